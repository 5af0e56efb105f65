#!/usr/bin/env bash
#SBATCH --array=1-99:7%5
#SBATCH -J sweep
#SBATCH -o logs/%x_%A_%a.out -e logs/%x_%A_%a.err
#SBATCH --time=90
#SBATCH --mem=4000M
#SBATCH -p short,long
#SBATCH -n1
PARAM=$(sed -n "${SLURM_ARRAY_TASK_ID}p" params.txt)
echo "task $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_TASK_COUNT on $(hostname), job $SLURM_ARRAY_JOB_ID"
./run.sh $PARAM
