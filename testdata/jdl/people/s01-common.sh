#!/bin/bash -l
#SBATCH --job-name=ana         # a comment, as people write it
#SBATCH -A pi_muon
#SBATCH --partition=long,short
#SBATCH --time=1-02:30:00
#SBATCH -N 1 -n 1 -c 2
#SBATCH --mem=4G
#SBATCH --output=%x_%j.out
#SBATCH --error=%x_%j.err
#SBATCH --mail-type=END,FAIL --mail-user=me@example.org
#SBATCH --export=NONE
#SBATCH --exclude=cnode[203,204]
#SBATCH --constraint="skylake|cascade"
#SBATCH --signal=B:USR1@120
#SBATCH --requeue
#SBATCH --nice=100
#SBATCH --qos=normal
#SBATCH --reservation=night
#SBATCH --comment="for the paper"
##SBATCH --gres=gpu:1
module purge 2>/dev/null
set -euo pipefail
echo "on $SLURM_CPUS_PER_TASK cpus, job $SLURM_JOB_NAME"
cat <<EOF > out.dat
#SBATCH --this-is=not-an-option
EOF
