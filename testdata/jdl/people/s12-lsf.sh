#!/bin/bash
#BSUB -J "ana[1-10]"
#BSUB -q long
#BSUB -W 2:00
#BSUB -R "rusage[mem=4000]"
./run.sh $LSB_JOBINDEX
