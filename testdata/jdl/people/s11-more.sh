#!/bin/bash
#SBATCH --chdir=/scratch/me
#SBATCH --begin=now+1hour
#SBATCH --deadline=2030-01-01
#SBATCH --licenses=matlab:1
#SBATCH --tmp=10G
#SBATCH --nodelist=n1
#SBATCH --switches=1
#SBATCH --hint=nomultithread
#SBATCH --threads-per-core=1
#SBATCH --cpu-freq=high
#SBATCH --profile=task
#SBATCH --open-mode=append
#SBATCH --input=data.txt
#SBATCH --kill-on-invalid-dep=yes
#SBATCH --get-user-env
#SBATCH --no-requeue
#SBATCH --parsable --test-only
#SBATCH --unknown-option=1
cat
