#!/bin/sh
echo pro $1 > pro.txt
