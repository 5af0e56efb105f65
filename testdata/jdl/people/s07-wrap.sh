#!/bin/bash
for i in 1 2 3; do
  sbatch --wrap="./run.sh $i" --mem=1G -t 5 -J run$i
done
