#!/bin/bash
#SBATCH --job-name=array-test     # create a short name for your job
#SBATCH --output=slurm-%A.%a.out         # stdout file
#SBATCH --nodes=1                        # node count
#SBATCH --ntasks=1                       # total number
#SBATCH --mem-per-cpu=1G                 # memory per cpu-core (4G is default)
#SBATCH --time=00:03:00                  # total run time limit (HH:MM:SS)
#SBATCH --array=0-2                      # job array with index values 0,1,2
#SBATCH --mail-type=all                  # s
####SBATCH --partition=isi                 # The partition
# #SBATCH --partition medium
module load x
srun python run.py
