#!/usr/bin/env bash
# Stops what up.sh started and removes its data.
set -uo pipefail
base=${GRID_TESTBED_DIR:-/tmp/grid-testbed}/oidc
. "$(dirname "$0")/../left.sh"
ours() { tr '\0' ' ' <"/proc/$1/cmdline" 2>/dev/null | grep -qF -- "$base/"; }
left glewlwyd
rm -rf "$base"
exit 0
