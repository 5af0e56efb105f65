#!/bin/bash
# down.sh - stops what up.sh started: jobs first, then the daemons, each by its pid file.
. "$(cd "$(dirname "$0")" && pwd)/../condor/common.sh"
run=$tree/var/lib/slurm24/run
if [ -s "$run/slurmctld.pid" ]; then
  inroot timeout 20 scancel -p short,long,infinite 2>/dev/null
  for _ in $(seq 40); do [ -z "$(inroot timeout 5 squeue -h -t R,CG 2>/dev/null)" ] && break; sleep .25; done
fi
for f in "$run"/slurmd-*.pid; do [ ! -e "$f" ] || stop_pid "$f" slurmd; done
for n in slurmctld slurmdbd munged; do stop_pid "$run/$n.pid" $n; done
stop_pid "$tree/var/lib/slurm24/mysql/mariadbd.pid" mariadbd
rm -f "$top/slurm24/env"
exit 0
