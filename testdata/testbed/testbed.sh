#!/usr/bin/env bash
# Starts or stops every testbed of real servers: testbed.sh up|down
#
# One that cannot be started does not stop the others: the reason is kept in
# $GRID_TESTBED_DIR/NAME.left-out and printed. Needs root, to install Debian's
# packages and to run services under their own users.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
export GRID_TESTBED_DIR=${GRID_TESTBED_DIR:-/tmp/grid-testbed}
action=${1:?usage: testbed.sh up|down}
mkdir -p "$GRID_TESTBED_DIR"
chmod 755 "$GRID_TESTBED_DIR"

left_out() { # NAME REASON
	printf '%s\n' "$2" >"$GRID_TESTBED_DIR/$1.left-out"
	printf 'testbed %s: left out: %s\n' "$1" "$2" >&2
}

for script in "$here"/*/"$action".sh; do
	name=$(basename "$(dirname "$script")")
	rm -f "$GRID_TESTBED_DIR/$name.left-out"
	if [ "$(id -u)" != 0 ]; then
		left_out "$name" "needs root"
		continue
	fi
	printf 'testbed %s: %s\n' "$name" "$action" >&2
	log=$GRID_TESTBED_DIR/$name.$action.log
	if ! timeout 900 "$script" >"$log" 2>&1; then
		left_out "$name" "$(tail -n 3 "$log" | tr '\n' ' ')"
	fi
done
