#!/bin/bash
#SBATCH --account=def-someuser
#SBATCH --gres=gpu:a100_3g.20gb:1
#SBATCH --cpus-per-task=3
#SBATCH --mem=40G
#SBATCH --time=0-03:00
#SBATCH --output=%N-%j.out
module load python/3.10 scipy-stack
virtualenv --no-download $SLURM_TMPDIR/env
source $SLURM_TMPDIR/env/bin/activate
python train.py
