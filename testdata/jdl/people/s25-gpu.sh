#!/bin/bash 
#SBATCH --nodes=1
#SBATCH --gres=gpu:a100 
#SBATCH --job-name train_test 
#SBATCH -J "train"
#SBATCH -o train_test.out 
#SBATCH --time=0-00:00:00
#SBATCH -n 64
#SBATCH  --mem=50G
conda activate torch_env
python -u train.py "$@"
