#!/bin/sh
echo epi "$@" > epi.txt
