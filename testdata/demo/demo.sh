#!/bin/sh
# Runs testdata/jdl/hello.jdl over the embedded grid of grid.toml: shows what
# there is, who would take the job and why, submits it, waits, prints its output.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
grid() {
	printf '\n$ grid %s\n' "$*"
	"$top/bin/grid" --config "$top/testdata/demo/grid.toml" --state-dir "$state" "$@"
}
cd "$top"
grid resources
grid match --explain testdata/jdl/hello.jdl
grid submit --wait testdata/jdl/hello.jdl
grid list
grid output --all --dir "$state/output"
printf '\nThe job said:\n'
find "$state/output" -type f -name '*.out' -exec cat {} +
