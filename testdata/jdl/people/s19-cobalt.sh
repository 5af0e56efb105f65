#!/bin/bash
#COBALT -t 30
#COBALT -n 2
./run.sh
