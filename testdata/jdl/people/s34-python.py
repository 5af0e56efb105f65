#!/usr/bin/env python3
#SBATCH --time=00:10:00
#SBATCH --mem-per-gpu=8G --gpus=v100:2
#SBATCH --cpus-per-gpu=4
import os
print(os.environ["SLURM_JOB_ID"], os.environ.get("SLURM_NTASKS"))
