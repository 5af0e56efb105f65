#!/usr/bin/env bash
# Discovery from a real BDII against ldapsearch, same filters and attributes,
# in one run: ratios of time, for a site's server and for a top BDII's relay.
# Then a whole "grid match" over both schemas: seconds and peak memory, cold and
# from the cache, best of five.
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

# match WHAT FLAG...: five runs, the best.
match() {
  local what=$1
  shift
  for _ in 1 2 3 4 5; do
    HOME=$work XDG_CACHE_HOME=$work/cache /usr/bin/time -f '%e %M' \
      "$work/grid" match --anywhere --info "ldap://127.0.0.1:$port" "$@" "$work/job.jdl" 2>&1 >/dev/null | tail -n 1
  done | sort -n | awk -v what="$what" 'NR == 1 {printf "match %s: %s s, %d MB\n", what, $1, $2 / 1024}'
}
for conf in site top; do
  "$here/up.sh" --name bdii-bench --sites "$sites" --load slapadd --conf $conf --port "$port" 2>/dev/null
  GRID_BDII=ldap://127.0.0.1:$port go test -run '^$' -bench Discovery -benchtime "${BENCHTIME:-10x}" ./infosys |
    sed -n "s/^BenchmarkDiscovery/$conf /p"
  match "$conf cold" --max-age 0
  match "$conf cached" --max-age 1h
done
