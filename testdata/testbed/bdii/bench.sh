#!/usr/bin/env bash
# Discovery from a real BDII against ldapsearch, same filters and attributes,
# in one run: ratios of time, for a site's server and for a top BDII's relay.
#
#   bench.sh [SITES]      default 300, the size of a continental grid
set -euo pipefail
cd "$(dirname "$0")/../../.."
sites=${1:-300}
port=${GRID_TESTBED_BDII_BENCH_PORT:-24175}
here=testdata/testbed/bdii
trap '"$here/down.sh" --name bdii-bench >/dev/null' EXIT
for conf in site top; do
  "$here/up.sh" --name bdii-bench --sites "$sites" --load slapadd --conf $conf --port "$port" 2>/dev/null
  GRID_BDII=ldap://127.0.0.1:$port go test -run '^$' -bench Discovery -benchtime "${BENCHTIME:-10x}" ./infosys |
    sed -n "s/^BenchmarkDiscovery/$conf /p"
done
