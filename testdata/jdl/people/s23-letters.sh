#!/bin/bash
#SBATCH -J job
#SBATCH -t 1-12:00
#SBATCH -c4
#SBATCH -p short,long
#SBATCH -w node[1-3]
#SBATCH -x node9
#SBATCH -q normal
#SBATCH -a 1-10:2
#SBATCH -D .
#SBATCH -n1 -N1 --mem=4G -t 10
#SBATCH -M cluster
#SBATCH -G 1
#SBATCH -H
#SBATCH -k
#SBATCH -O
#SBATCH -s
#SBATCH -Q
#SBATCH -W
hostname
