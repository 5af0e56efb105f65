#!/usr/bin/env bash
# Discovery from a real BDII against ldapsearch, same filters and attributes,
# in one run: ratios of time, for a site's server and for a top BDII's relay.
# Then a whole "grid match" over both schemas, cold and from the cache, and
# "grid --version": the best of nine runs. CPU seconds are the program's own and
# hold on a busy machine too; elapsed ones contain the server's share.
#
#   bench.sh [SITES]      default 300, the size of a continental grid
set -euo pipefail
cd "$(dirname "$0")/../../.."
sites=${1:-300}
port=${GRID_TESTBED_BDII_BENCH_PORT:-24175}
here=testdata/testbed/bdii
work=$(mktemp -d)
trap '"$here/down.sh" --name bdii-bench >/dev/null; rm -rf "$work"' EXIT
CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$work/grid" ./cmd/grid
cat >"$work/job.jdl" <<'JDL'
[
  Executable = "/bin/true";
  VirtualOrganisation = "biomed";
  Requirements = other.GlueCEStateStatus == "Production" && other.GlueCEPolicyMaxWallClockTime > 720
    && member("MPI-START", other.GlueHostApplicationSoftwareRunTimeEnvironment);
]
JDL

# best WHAT COMMAND...: nine runs; the least of each figure, the most memory.
best() {
  local what=$1 TIMEFORMAT='%3R %3U %3S'
  shift
  for _ in 1 2 3 4 5 6 7 8 9; do
    { time HOME=$work XDG_CACHE_HOME=$work/cache /usr/bin/time -o "$work/memory" -f %M "$@" >/dev/null 2>&1; } 2>&1 | tr '\n' ' '
    cat "$work/memory"
  done | awk -v what="$what" '
    {cpu = $2 + $3} NR == 1 || $1 < e {e = $1} NR == 1 || cpu < c {c = cpu} $4 > m {m = $4}
    END {printf "%s: %.3f s elapsed, %.3f s of CPU, %d MB\n", what, e, c, m / 1024}'
}
match() {
  local what=$1
  shift
  best "match $what" "$work/grid" match --anywhere --info "ldap://127.0.0.1:$port" "$@" "$work/job.jdl"
}
best version "$work/grid" --version
for conf in site top; do
  "$here/up.sh" --name bdii-bench --sites "$sites" --load slapadd --conf $conf --port "$port" 2>/dev/null
  GRID_BDII=ldap://127.0.0.1:$port go test -run '^$' -bench Discovery -benchtime "${BENCHTIME:-10x}" ./infosys |
    sed -n "s/^BenchmarkDiscovery/$conf /p"
  match "$conf cold" --max-age 0
  match "$conf cached" --max-age 1h
done
