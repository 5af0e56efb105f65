#!/bin/bash
#SBATCH --time=10
#SBATCH --mem=100
echo hi
