#!/bin/sh
# Counts the words of a file and leaves the number in result/count.txt.
set -eu
mkdir -p result
wc -w <"$1" | tr -d ' ' >result/count.txt
echo "$2: $(cat result/count.txt) words"
