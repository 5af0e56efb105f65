#!/usr/bin/env bash
# Places the same jobs by several policies over three real A-REX and a real
# Slurm, some of them loaded, and prints the mean time to completion of each
# policy and its ratio to hybrid. The testbeds must be up. No policy knows
# anything at first, and none sends scouts, as ARC's own broker has neither; but
# hybrid-known has seen some jobs everywhere before, and has its scouts. Only
# jobs of its own records are ever cancelled.
#   bench-policies.sh [JOBS [SECONDS]]   default 200 jobs that sleep 10 s
set -euo pipefail
jobs=${1:-200} seconds=${2:-10}
top=$(cd "$(dirname "$0")/../.." && pwd)
bed=${GRID_TESTBED_DIR:-/tmp/grid-testbed}
set -a
. "$bed/arc/env"
. "$bed/slurm/env"
set +a
work=$(mktemp -d)
grid() { "$work/grid" --state-dir "$work/$state" "$@"; }
finish() {
	for state in "$work"/s-*; do
		state=$(basename "$state")
		grid cancel --all >/dev/null 2>&1 || true
		grid clean --all --forget >/dev/null 2>&1 || true
	done
	rm -rf "$work"
}
trap finish EXIT
go build -C "$top" -o "$work/grid" ./cmd/grid

read -r a b c _ <<<"$GRID_ARC_REST10"
sources=(--no-cache --info "$a" --info "$b" --info "$c" --info slurm:)

# What loads arex1 and Slurm's partition "infinite" while a policy is measured.
sweep() { # NUMBER SECONDS
	cat >"$work/$1-$2.jdl" <<JDL
JobType = "parametric"; Parameters = $1; Executable = "/bin/sleep"; Arguments = "$2";
Requirements = RegExp("^(arex[123]|slurm|local)", other.GlueCEInfoHostName);
WallTime = "5 min"; RetryCount = 0;
JDL
	echo "$work/$1-$2.jdl"
}
load() {
	grid submit --info "$a" "$(sweep 6 60)" >/dev/null
	grid submit --info slurm: --site '*infinite' "$(sweep 24 60)" >/dev/null
	sleep 20 # until the information systems say so
}

# Some jobs at every place, before the load: what a user has who was here before.
acquaint() {
	local place
	for place in "$a" "$b" "$c"; do
		grid submit --wait --scouts 0 --info "$place" "$(sweep 6 "$seconds")" >/dev/null 2>&1 || true
	done
	for place in short long infinite; do
		grid submit --wait --scouts 0 --info slurm: --site "*/$place" "$(sweep 4 "$seconds")" >/dev/null 2>&1 || true
	done
	grid clean --all --forget >/dev/null 2>&1 || true
}

printf '%-20s %8s %8s %8s\n' policy jobs mean/s ratio
for policy in hybrid hybrid-known random arc-fastest-queue fastest-queue; do
	scouts=(--scouts 0)
	if [ "$policy" = hybrid-known ]; then
		state=s-$policy
		acquaint
		scouts=()
	fi
	state=s-load-$policy
	load
	state=s-$policy
	grid submit --wait --policy "${policy%-known}" "${scouts[@]}" --seed 1 "${sources[@]}" "$(sweep "$jobs" "$seconds")" >/dev/null 2>"$work/err" || true
	grid list --json >"$work/$policy.json"
	state=s-load-$policy
	grid cancel --all >/dev/null 2>&1 || true
	python3 - "$policy" "$work" <<'PY'
import collections, datetime as d, json, sys
policy, work = sys.argv[1:]
def when(s): return d.datetime.fromisoformat(s[:26].rstrip("Z") + "+00:00")
def mean(name):
    jobs = json.load(open(f"{work}/{name}.json"))["jobs"]
    odd = collections.Counter(f"{j['state']} at {j.get('at')}: {j.get('reason', '')[:80]}" for j in jobs if j["state"] != "done")
    if name == policy and odd:
        print(f"  not done: {dict(odd)}")
    jobs = [j for j in jobs if j["state"] == "done"]
    took = [(when(j["ended"]) - when(j["created"])).total_seconds() for j in jobs]
    return len(took), sum(took) / max(1, len(took))
n, m = mean(policy)
print(f"{policy:20} {n:8d} {m:8.1f} {m / mean('hybrid')[1]:8.2f}", flush=True)
PY
done
