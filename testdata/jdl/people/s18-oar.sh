#!/bin/bash
#OAR -l /nodes=1/core=4,walltime=2:00:00
./run.sh
