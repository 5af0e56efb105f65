#!/usr/bin/env bash
# A new user's sweep over a real A-REX and a real Slurm, one of which fails every
# job at once and is preferred by the sweep's Rank: how many jobs are lost to it?
# Plain "grid submit", without --wait, with "grid follow" beside it.
#   blackhole.sh [JOBS [WAYS]]   default 1000, and all ways of failing
# It breaks servers, so it wants a testbed of its own, for instance
#   export GRID_TESTBED_DIR=/tmp/hole GRID_TESTBED_ARC_PORT=24600 GRID_TESTBED_ARC7=no GRID_TESTBED_SLURM_PORT=27901
#   testdata/testbed/arc/up.sh arex1; testdata/testbed/slurm/up.sh --no-accounting
# Prints a line for each way of failing: jobs sent to the hole, jobs that failed,
# jobs that the other one had taken by then. Ends with 1 where more than 5 were lost.
set -euo pipefail
jobs=${1:-1000}
top=$(cd "$(dirname "$0")/../.." && pwd)
bed=${GRID_TESTBED_DIR:-/tmp/grid-testbed}
[ "$bed" != /tmp/grid-testbed ] || { echo 'set GRID_TESTBED_DIR to a testbed of its own: see the head of this script' >&2; exit 2; }
set -a
. "$bed/arc/env"
. "$bed/slurm/env"
set +a
read -r ce _ <<<"$GRID_ARC_REST10"
share=$bed/arc/ce/arcroot/share/arc
work=$(mktemp -d)
bad=0
mend() {
	ln -sfn /usr/share/arc/submit-fork-job "$share/submit-fork-job"
	if grep -q '^TaskProlog=' "$SLURM_CONF"; then
		sed -i '/^TaskProlog=/d' "$SLURM_CONF"
		scontrol reconfigure
	fi
}
finish() {
	[ -z "${follower:-}" ] || kill "$follower" 2>/dev/null || true
	grid cancel --all --yes >/dev/null 2>&1 || true
	mend
	rm -rf "$work"
}
grid() { "$work/grid" --state-dir "$work/state" "$@"; }
trap finish EXIT
go build -C "$top" -o "$work/grid" ./cmd/grid

# How a site fails every job at once.
arc-lrms() { # the batch system takes nothing
	rm -f "$share/submit-fork-job"
	printf '#!/bin/sh\necho "no space left in the spool" >&2\nexit 1\n' >"$share/submit-fork-job"
	chmod 755 "$share/submit-fork-job"
}
arc-program() { # the program is not there on the nodes
	rm -f "$share/submit-fork-job"
	cat >"$share/submit-fork-job" <<'SH'
#!/bin/bash
for grami; do :; done
text=$(sed "s#^joboption_arg_0=.*#joboption_arg_0=/cvmfs/gone/run#" "$grami") && printf '%s\n' "$text" >"$grami"
exec /usr/share/arc/submit-fork-job "$@"
SH
	chmod 755 "$share/submit-fork-job"
}
slurm-prolog() { # what prepares a task fails on every node
	printf '#!/bin/sh\nexit 1\n' >"$work/prolog"
	chmod 755 "$work" "$work/prolog"
	echo "TaskProlog=$work/prolog" >>"$SLURM_CONF"
	scontrol reconfigure
}

# The sweep prefers the hole. Nothing is tried twice, so that each loss is seen.
sweep() { # PATTERN of the hole
	cat >"$work/sweep.jdl" <<JDL
JobType = "parametric"; Parameters = $jobs; Executable = "/bin/sleep"; Arguments = "1"; WallTime = "5 min"; RetryCount = 0; ShallowRetryCount = -1;
Rank = RegExp("$1", other.GlueCEUniqueID) ? 2 : 1;
JDL
}

# The jobs of this state directory: sent to the hole, failed, taken by the other.
count() { # PATTERN
	grid list --json | jq -r --arg hole "$1" '
		[.jobs[] | {where: ((.at // "") + " " + ((.past // []) | map(.at // "") | join(" "))), state, exit_code}] |
		[(map(select(.where | test($hole))) | length),
		 (map(select(.state == "failed" or .state == "lost" or (.exit_code // 0) != 0)) | length),
		 (map(select((.where | test($hole) | not) and .where != " ")) | length)] | @tsv'
}

try() { # WAY PATTERN
	rm -rf "$work/state"
	"$1"
	sweep "$2"
	grid follow --metrics '' --info "$ce" --info slurm: >"$work/follow.log" 2>&1 &
	follower=$!
	for _ in $(seq 100); do [ ! -e "$work/state/leases/follow" ] || break; sleep .1; done
	grid submit --no-cache --info "$ce" --info slurm: --site '*/short' --site '*arex1*' "$work/sweep.jdl" >"$work/submit.out" 2>"$work/submit.err" || true
	local at=0 failed=0 other=0
	for _ in $(seq 60); do
		read -r at failed other <<<"$(count "$2")"
		[ "$((failed + other))" -lt "$jobs" ] || break
		sleep 10
	done
	kill "$follower" && wait "$follower" 2>/dev/null || true
	follower=
	printf '%-14s %10d %8d %8d\n' "$1" "$at" "$failed" "$other"
	[ "$failed" -le 5 ] && [ "$((failed + other))" -ge "$jobs" ] || bad=1
	grid cancel --all --yes >/dev/null 2>&1 || true
	mend
}

printf '%-14s %10s %8s %8s\n' 'way of failing' 'sent there' failed elsewhere
mend
ways=${2:-arc-lrms arc-program slurm-prolog}
for way in $ways; do
	case $way in arc-*) try "$way" arex1 ;; *) try "$way" "localhost|slurm" ;; esac
done
exit "$bad"
