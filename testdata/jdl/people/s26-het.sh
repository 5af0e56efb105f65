#!/bin/bash
#SBATCH --job-name=coupled
#SBATCH -A phy123 -q regular
#SBATCH --ntasks=4 --cpus-per-task=2 --mem-per-cpu=2G
#SBATCH hetjob
#SBATCH --ntasks=1 --gpus=1
srun ./ocean : ./atmos
