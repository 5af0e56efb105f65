#!/usr/bin/env bash
# Stops what up.sh started and removes its data.
set -uo pipefail
base=${GRID_TESTBED_DIR:-/tmp/grid-testbed}/postgres
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
[ -n "$bin" ] && [ -d "$base/data" ] && runuser -u postgres -- "$bin/pg_ctl" -D "$base/data" -m immediate stop
rm -rf "$base/gone"
mv "$base/data" "$base/gone" 2>/dev/null # whole, or not there
rm -rf "$base"
exit 0
