#!/bin/sh
#SBATCH --constraint="[rack1|rack2]"
#SBATCH --ntasks 16 --ntasks-per-core=1
#SBATCH --mem=0 --exclusive
#SBATCH --tmp=20G --nice=100
#SBATCH --signal=B:USR1@120 --requeue
#SBATCH --open-mode=append
#SBATCH --export=ALL,OMP_NUM_THREADS=1,A="b c"
#SBATCH --begin=now+1hour
#SBATCH --licenses=matlab:1
trap 'touch timeout' USR1
mpirun ./a.out
