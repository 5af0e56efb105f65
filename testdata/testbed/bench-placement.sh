#!/usr/bin/env bash
# bench-placement.sh [JOBS] [POLICY...] - where do jobs end up, and how soon?
#
# Sends the same jobs (default 200, two seconds each) with each policy to
# three A-REX and one Slurm, one of the A-REX loaded by somebody else's queue,
# and prints the mean and the 95 % quantile of the completion time (submission
# to the end of the job, by the jobs' own clock) and its ratio to random.
# The testbeds arc and slurm must be up. Takes some minutes per policy.
set -euo pipefail
jobs=${1:-200}
shift || true
policies=("$@")
[ ${#policies[@]} -gt 0 ] || policies=(random fastest-queue hybrid)
top=$(cd "$(dirname "$0")/../.." && pwd)
state=${GRID_TESTBED_DIR:-/tmp/grid-testbed}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
set -a
. "$state/arc/env"
. "$state/slurm/env"
set +a
read -ra ces <<<"$GRID_ARC_REST10"
info=(--info "${ces[0]}" --info "${ces[1]}" --info "${ces[2]}" --info "slurm:$work/slurm" --max-age 0s)
grid() { "$top/bin/grid" --state-dir "$work/state" "$@"; }

cat >"$work/job.jdl" <<'JDL'
Executable = "/bin/sh";
Arguments = "-c 'sleep 2; date +%s.%N'";
StdOutput = "end";
OutputSandbox = {"end"};
WallTime = "1 min";
RetryCount = 0;
JDL
sed 's/sleep 2/sleep 20/; s/1 min/2 min/' "$work/job.jdl" >"$work/load.jdl"
files() { yes "$1" | head -n "$2"; }

for policy in "${policies[@]}"; do
	# Somebody else's jobs: eight on the first CE, which has two slots.
	mapfile -t load < <(files "$work/load.jdl" 8)
	grid submit --info "${ces[0]}" --json "${load[@]}" >/dev/null
	sleep "${SETTLE:-12}" # until the load shows in what the CE publishes
	mapfile -t batch < <(files "$work/job.jdl" "$jobs")
	start=$(date +%s.%N)
	grid submit "${info[@]}" --policy "$policy" --seed 1 "${batch[@]}" >"$work/ids"
	grid watch - <"$work/ids" >/dev/null || true
	grid output --dir "$work/$policy" - <"$work/ids" >/dev/null
	find "$work/$policy" -name end -exec cat {} + |
		awk -v s="$start" '{print $1 - s}' | sort -n >"$work/$policy.t"
	awk '{print $3}' "$work/ids" | sed 's/\/.*//' | sort | uniq -c | awk -v p="$policy" '{printf "%s: %s jobs at %s\n", p, $1, $2}' >&2
	grid cancel --all >/dev/null 2>&1 || true
	grid clean --all >/dev/null 2>&1 || true
	sleep 5
done
printf '%-14s %6s %8s %8s %8s\n' POLICY DONE MEAN P95 RATIO
for policy in "${policies[@]}"; do
	awk -v p="$policy" -v base="$(awk '{s+=$1} END {print s/NR}' "$work/${policies[0]}.t")" '
		{s+=$1; t[NR]=$1} END {printf "%-14s %6d %7.1fs %7.1fs %8.2f\n", p, NR, s/NR, t[int(NR*.95+.5)], s/NR/base}' "$work/$policy.t"
done
