#!/bin/bash
#SBATCH --job-name=train
#SBATCH --partition=gpu
#SBATCH --nodes=2 --ntasks-per-node=4 --cpus-per-task=2
#SBATCH --gpus-per-node=4
#SBATCH --mem=64G --tmp=100G
#SBATCH --time=1-12:00:00
#SBATCH --output=train.out --error=train.err
set -e
./train --tasks 8
