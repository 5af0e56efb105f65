#!/bin/bash
#SBATCH --account=<budget>
#SBATCH --nodes=4
#SBATCH --gres=gpu:4,nvme:1
#SBATCH --threads-per-core=1 --hint=nomultithread
#SBATCH --distribution=block:cyclic:fcyclic
#SBATCH --dependency=singleton
#SBATCH --partition=booster
srun --cpu-bind=none ./prog
