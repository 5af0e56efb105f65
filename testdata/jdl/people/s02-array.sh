#!/bin/bash
#SBATCH --array=1-5:2%2
#SBATCH --output=logs/%A_%a.out
#SBATCH --mem-per-cpu=500
#SBATCH -t 10
x=$(sed -n "${SLURM_ARRAY_TASK_ID}p" list.txt 2>/dev/null || echo none)
echo "task $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_TASK_MAX: $x"
