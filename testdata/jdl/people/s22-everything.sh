#!/bin/bash
#SBATCH --array=1,3-5,9%2
#SBATCH --mem=0
#SBATCH --exclusive
#SBATCH --time=2-0
#SBATCH --ntasks=10 #asked for 1 cores
#SBATCH --export=ALL
#SBATCH --hint=nomultithread
#SBATCH --account=$PROJECT
#SBATCH --output=%x_%j.out
#SBATCH --error=%x_%j.err
#SBATCH --chdir=/data/home/x
#SBATCH --open-mode=append
#SBATCH --signal=B:USR1@60
#SBATCH --get-user-env
#SBATCH -C knl&flat
#SBATCH --tmp=10G
#SBATCH -L scratch
#SBATCH --no-kill
#SBATCH --comment "x y"
#SBATCH --clusters=ub-hpc
#SBATCH --distribution=block:cyclic
#SBATCH --ntasks-per-socket=2
#SBATCH --sockets-per-node=2
#SBATCH --threads-per-core=1
#SBATCH --core-spec=1
#SBATCH --bb="capacity=1GB"
echo $SLURM_JOB_ID $SLURM_ARRAY_TASK_ID
