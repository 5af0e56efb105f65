#!/bin/bash

# my favourite job
set -e
#SBATCH --time=1:00:00
#SBATCH -N1 -n 4
echo hi
#SBATCH --mem=1G
