#!/bin/bash
jid1=$(sbatch --parsable s02-array.sh)
jid2=$(sbatch --parsable --dependency=afterok:$jid1 s04b.sh)
sbatch --dependency=afterany:$jid2 s04b.sh
