#!/bin/bash
# up.sh - an A-REX 6.17 whose jobs run in the testbed's Slurm, as at many sites. It stands beside
# the other computing elements, with their users and authority.
#
#   testdata/testbed/slurmce/up.sh
#   . ${GRID_TESTBED_DIR:-/tmp/grid-testbed}/slurmce/env
#
# Idempotent. Needs root, and the testbeds slurm and arc; down.sh stops it.
set -euo pipefail
. "$(dirname "$0")/../arc/common.sh"
top=$(dirname "$STATE")
[ -s "$top/slurm/env" ] || { echo "slurm/up.sh comes first" >&2; exit 3; }
mkdir -p "$STATE/ce/slurm-bin" "$top/slurmce"
for command in sbatch squeue scancel sinfo scontrol; do
  printf '#!/bin/sh\nSLURM_CONF=%q exec /usr/bin/%s "$@"\n' "$top/slurm/slurm.conf" $command >"$STATE/ce/slurm-bin/$command"
  chmod 755 "$STATE/ce/slurm-bin/$command"
done
"$HERE/up.sh" $CE_SLURM >/dev/null
echo "GRID_ARC_SLURM=https://$CE_SLURM.$DOM:$(rest_port $CE_SLURM)/arex" >"$top/slurmce/env"
cat "$top/slurmce/env"
