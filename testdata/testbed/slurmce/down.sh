#!/bin/bash
# down.sh - stops what up.sh started.
. "$(dirname "$0")/../arc/common.sh"
"$HERE/down.sh" $CE_SLURM
rm -rf "${STATE:?}/ce/$CE_SLURM"/{control,session}/*
rm -f "$(dirname "$STATE")/slurmce/env"
exit 0
