#!/bin/bash
#SBATCH -n 1 --mem=4G
#SBATCH hetjob
#SBATCH -n 8 --mem-per-cpu=1G
srun --het-group=0,1 hostname
