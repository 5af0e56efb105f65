#!/usr/bin/env bash
# Stops what up.sh started and removes its data.
set -uo pipefail
base=${GRID_TESTBED_DIR:-/tmp/grid-testbed}/oidc
[ ! -s "$base/pid" ] || kill "$(cat "$base/pid")" 2>/dev/null
rm -rf "$base"
exit 0
