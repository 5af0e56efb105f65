#!/bin/bash
#SBATCH --gres=lscratch:50
#SBATCH --cpus-per-task=8 --mem=16g
##SBATCH --time=never
# SBATCH --time=alsonever
#SBATCH -t 4-0
cd /lscratch/$SLURM_JOB_ID
cp $SLURM_SUBMIT_DIR/in.txt .
samtools sort -@ $SLURM_CPUS_PER_TASK in.txt
