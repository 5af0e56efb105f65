#!/bin/bash
# up.sh - a second Slurm 22.05 on loopback for the tests, beside the first: without
# accounting, with a partition "guest" whose jobs are safe for 30 s and then give way.
# It is reached through its own sshd as slurm2.
#
#   testdata/testbed/slurm2/up.sh
#   . ${GRID_TESTBED_DIR:-/tmp/grid-testbed}/slurm2/env
#
# Idempotent; down.sh stops it. Ports, all on 127.0.0.1: slurmctld 17951, sshd 17954,
# slurmd 17961-17968.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=${GRID_TESTBED_DIR:-/tmp/grid-testbed}/slurm2
export GRID_TESTBED_DIR=$top GRID_TESTBED_SLURM_PORT=17951 GRID_TESTBED_SLURM_GUESTS=30
"$here/../slurm/up.sh" --no-accounting
sed 's/^Host .*/Host slurm2/' "$top/slurm/ssh/config" >"$top/ssh_config"
printf 'GRID_SLURM2_CONF=%q\nGRID_SLURM2_SSH_CONFIG=%q\n' "$top/slurm/slurm.conf" "$top/ssh_config" >"$top/env"
echo "up: . $top/env"
