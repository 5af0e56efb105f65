#!/bin/bash
# bench.sh - the figures of HTCondor in docs/benchmarks.md, against the pool of
# up.sh: submission of 1,000 different jobs over SSH beside "ssh condor_submit"
# for each, and status of 1,000 beside one condor_q. Prints the load with them.
set -euo pipefail
cd "$(dirname "$0")/../../.."
echo "load: $(cut -d' ' -f1-3 /proc/loadavg)"
go test -run '^$' -bench . -benchtime "${1:-3x}" ./plugins/htcondor
echo "load: $(cut -d' ' -f1-3 /proc/loadavg)"
