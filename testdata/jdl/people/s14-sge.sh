#!/bin/bash
#$ -N ana
#$ -pe smp 4
#$ -l h_rt=1:00:00
./run.sh
