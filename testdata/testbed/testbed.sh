#!/usr/bin/env bash
# Starts or stops every testbed of real servers: testbed.sh up|down
#
# One that cannot be started does not stop the others: the reason is kept in
# $GRID_TESTBED_DIR/NAME.left-out and printed. Needs root, to install Debian's
# packages and to run services under their own users.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
export GRID_TESTBED_DIR=${GRID_TESTBED_DIR:-/tmp/grid-testbed}
action=${1:-}
case $action in
up | down) ;;
*)
	echo 'usage: testbed.sh up|down' >&2
	exit 2
	;;
esac
mkdir -p "$GRID_TESTBED_DIR"
chmod 755 "$GRID_TESTBED_DIR"

# reserve keeps the testbeds' fixed ports from being lent to an outgoing
# connection, which would hinder a server that starts just then: where the
# range of ephemeral ports covers them. down puts back what was there.
reserved=/proc/sys/net/ipv4/ip_local_reserved_ports
reserve() {
	local kept=$GRID_TESTBED_DIR/reserved-ports
	[ -w "$reserved" ] && [ "$(id -u)" = 0 ] || return 0
	case $action in
	up)
		[ -e "$kept" ] || cat "$reserved" >"$kept"
		{ tr '\n' , <"$kept" && echo 17700-17999,20000-22999,24100-24799,27800-28999,56432; } | sed 's/^,//' >"$reserved"
		;;
	down)
		[ ! -e "$kept" ] || cat "$kept" >"$reserved"
		rm -f "$kept"
		;;
	esac
}
reserve 2>/dev/null

left_out() { # NAME REASON
	printf '%s\n' "$2" >"$GRID_TESTBED_DIR/$1.left-out"
	printf 'testbed %s: left out: %s\n' "$1" "$2" >&2
}

# Packages are installed one after the other, since their lists are locked.
tools=$GRID_TESTBED_DIR/bin
mkdir -p "$tools"
real=$(command -v apt-get || echo /usr/bin/apt-get)
printf '#!/bin/sh\nexec flock -o %q %q "$@"\n' "$GRID_TESTBED_DIR/apt.lock" "$real" >"$tools/apt-get"
chmod 755 "$tools" "$tools/apt-get"

# run runs a script. A server that did not start has a second try: a port that
# was taken may be free again.
run() { # NAME SCRIPT
	local log=$GRID_TESTBED_DIR/$1.$action.log
	PATH=$tools:$PATH timeout 900 "$2" >"$log" 2>&1 && return
	sleep 3
	PATH=$tools:$PATH timeout 900 "$2" >>"$log" 2>&1 || left_out "$1" "$(tail -n 3 "$log" | tr '\n' ' ')"
}

# one starts or stops a testbed.
one() { # SCRIPT
	local name
	name=$(basename "$(dirname "$1")")
	rm -f "$GRID_TESTBED_DIR/$name.left-out"
	if [ "$(id -u)" != 0 ]; then
		left_out "$name" "needs root"
		return
	fi
	printf 'testbed %s: %s\n' "$name" "$action" >&2
	run "$name" "$1"
}

# What uses another's server or packages stands after it in a chain. The chains, which
# spend most of their time waiting for servers, run side by side, and beside them what
# stands in none, one by one.
case $action in
up) chains=(arc 'slurm slurm2 voms slurmce' 'condor slurm24') ;;
down) chains=(arc slurm slurm2 'condor slurm24') ;;
esac
chain() { # NAME...
	local name
	for name; do one "$here/$name/$action.sh"; done
}
for names in "${chains[@]}"; do
	chain $names & # shellcheck disable=SC2086
done
for script in "$here"/*/"$action".sh; do
	name=$(basename "$(dirname "$script")")
	[[ " ${chains[*]} " == *" $name "* ]] || one "$script"
done
wait
