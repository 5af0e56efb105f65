#!/bin/bash
#SBATCH --gres=gpu:tesla:2
#SBATCH --cpus-per-gpu=4
#SBATCH --mem-per-gpu=8G
#SBATCH --time=2:00:00
nvidia-smi
