#!/bin/bash
# down.sh - stops what up.sh started.
top=${GRID_TESTBED_DIR:-/tmp/grid-testbed}/slurm2
rm -f "$top/env"
GRID_TESTBED_DIR=$top exec "$(dirname "$0")/../slurm/down.sh"
