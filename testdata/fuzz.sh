#!/bin/sh
# Runs every fuzz test of the project, one after the other: fuzz.sh [TIME]
set -eu
time=${1:-30s}
cd "$(dirname "$0")/.."
grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u | while read -r dir; do
	sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$dir"/*_test.go | while read -r name; do
		echo "== $dir $name"
		go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" "$dir"
	done
done
