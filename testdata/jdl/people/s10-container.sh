#!/bin/sh
#SBATCH --container-image=nvcr.io\#nvidia/pytorch:23.10-py3
#SBATCH --container-mounts=/data:/data
#SBATCH --time=1:00:00
python -c 'print(1)'
