#!/bin/bash
#SBATCH -J "two words" -t 0:05:00 --mem 100M

#SBATCH --ntasks 2
echo first
#SBATCH --mem=99G
