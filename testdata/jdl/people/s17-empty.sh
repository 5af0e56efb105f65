#!/bin/bash
# not a job for Slurm
echo plain
