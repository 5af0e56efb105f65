#!/bin/bash
#PBS -l walltime=1:00:00
#SBATCH --time=1:00:00
#SBATCH -o %j-%N-%u.log
echo both
