#!/usr/bin/env bash
# Places the same jobs by several policies over three real A-REX, the first of them
# loaded, and prints for each policy how many jobs ended, the time from the call to
# the mean and the last end, and the ratio of the means to that of hybrid. Ends are
# what the jobs themselves write down. grid runs as a new user would, with its
# defaults, who knows nothing of any site; hybrid-known has run some jobs at all of them
# before. arcsub-... is ARC's own client with its own brokers. The testbed of ARC
# must be up and nothing else at work in it.
#   bench-policies.sh [JOBS [SECONDS]]   default 200 jobs that sleep 10 s
#   POLICIES="hybrid random ..."         which, hybrid first; ROUNDS: how often all of them (1)
set -euo pipefail
jobs=${1:-200} seconds=${2:-10}
policies=${POLICIES:-hybrid hybrid-known fastest-queue random arcsub-FastestQueue arcsub-Random}
top=$(cd "$(dirname "$0")/../.." && pwd)
bed=${GRID_TESTBED_DIR:-/tmp/grid-testbed}
set -a
. "$bed/arc/env"
set +a
read -r a b c _ <<<"$GRID_ARC_REST10"
read -r ldap_a ldap_b ldap_c _ <<<"$GRID_ARC_LDAP"
sources=(--no-cache --info "$a" --info "$b" --info "$c")
work=$(mktemp -d)
chmod 711 "$work"
mkdir -p "$work/home/.arc" "$work/ends" "$work/xrsl"
chmod 1777 "$work/ends"
: >"$work/grid.toml"
export GRID_CONFIG=$work/grid.toml
grid() { "$work/grid" --state-dir "$work/$state" "$@"; }
arc() { (cd "$work/xrsl" && HOME=$work/home "$@"); }
finish() {
	forget
	rm -rf "$work"
}
trap finish EXIT
go build -C "$top" -o "$work/grid" ./cmd/grid

# forget ends and removes what this script has made, and nothing else.
forget() {
	arc arckill -a -j "$work/home/.arc/made" >/dev/null 2>&1 || true
	arc arcclean -a -f -j "$work/home/.arc/made" >/dev/null 2>&1 || true
	rm -f "$work/home/.arc/made"*
	for state in s-load s-measured; do
		[ -d "$work/$state" ] || continue
		grid cancel --all --yes >/dev/null 2>&1 || true
		timeout 60 "$work/grid" --state-dir "$work/$state" watch --all >/dev/null 2>&1 || true
		grid clean --all --forget --yes >/dev/null 2>&1 || true
		rm -rf "${work:?}/$state"
	done
}

# What a job does: it sleeps, and writes down when it ended.
job() { echo "sleep $seconds; date +%s.%N >>$work/ends/$1"; }

jdl() { # POLICY NUMBER
	cat >"$work/$1.jdl" <<JDL
JobType = "parametric"; Parameters = $2; Executable = "/bin/sh"; Arguments = "-c '$(job "$1")'";
WallTime = "5 min"; RetryCount = 0;
JDL
	echo "$work/$1.jdl"
}

load() {
	state=s-load
	printf 'JobType = "parametric"; Parameters = 8; Executable = "/bin/sleep"; Arguments = "120"; WallTime = "5 min";' >"$work/load.jdl"
	grid submit --scouts 0 --info "$a" "$work/load.jdl" >/dev/null
	sleep 30 # until the information system says so
}

# Some jobs at every place, before the load: what a user has who was here before.
acquaint() {
	state=s-measured
	for place in "$a" "$b" "$c"; do
		grid submit --wait --info "$place" "$(jdl known 6)" >/dev/null 2>&1 || true
	done
}

ours() { # POLICY
	state=s-measured
	grid submit --wait --policy "${1%-known}" --seed 1 "${sources[@]}" "$(jdl "$1" "$jobs")" >/dev/null 2>"$work/err" || tail -2 "$work/err"
}

theirs() { # POLICY
	local i
	rm -f "$work"/xrsl/*
	for i in $(seq 1 "$jobs"); do
		printf '&(executable="/bin/sh")(arguments="-c" "%s")(walltime="5 minutes")(jobname="p%s")' "$(job "$1")" "$i" >"$work/xrsl/$i.xrsl"
	done
	arc sh -c 'exec arcsub "$@" *.xrsl' arcsub -j "$work/home/.arc/made" -b "${1#arcsub-}" -c "$ldap_a" -c "$ldap_b" -c "$ldap_c" \
		-I org.nordugrid.ldapglue2 -S org.nordugrid.arcrest >"$work/err" 2>&1 || tail -2 "$work/err"
	for i in $(seq 1 600); do
		[ "$(wc -l <"$work/ends/$1")" -lt "$jobs" ] || break
		sleep 1
	done
}

measure() { # POLICY
	local start
	: >"$work/ends/$1"
	chmod 666 "$work/ends/$1"
	if [ "$1" = hybrid-known ]; then
		: >"$work/ends/known"
		chmod 666 "$work/ends/known"
		acquaint
	fi
	load
	start=$(date +%s.%N)
	case $1 in arcsub-*) theirs "$1" ;; *) ours "$1" ;; esac
	sort -n "$work/ends/$1" | awk -v start="$start" -v policy="$1" -v of="$work/hybrid" '
		{ n++; sum += $1 - start; last = $1 - start }
		END {
			mean = n ? sum / n : 0
			if (policy == "hybrid") print mean >of
			else getline first <of
			printf "%-22s %6d %8.1f %8.1f %8.2f\n", policy, n, mean, last, (policy == "hybrid" || !first ? 1 : mean / first)
		}'
	forget
}

printf '%-22s %6s %8s %8s %8s\n' policy ended mean/s last/s ratio
for _ in $(seq 1 "${ROUNDS:-1}"); do
	for policy in $policies; do
		measure "$policy"
	done
done
