#!/bin/bash
#SBATCH --dependency=afterok:12345:12346
#SBATCH --time=00:10:00
echo dep
