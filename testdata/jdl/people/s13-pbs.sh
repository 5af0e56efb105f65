#!/bin/bash
#PBS -N ana
#PBS -l nodes=2:ppn=8,walltime=12:00:00
#PBS -q batch
cd $PBS_O_WORKDIR
./run.sh
