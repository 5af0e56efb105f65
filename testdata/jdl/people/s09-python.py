#!/usr/bin/env python3
#SBATCH --time=5
#SBATCH --mem=200M
#SBATCH -o py.out
import os
print("from python", os.environ.get("SLURM_JOB_NAME"))
