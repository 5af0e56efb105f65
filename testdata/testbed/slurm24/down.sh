#!/bin/bash
# down.sh - stops what up.sh started: jobs first, then the daemons, by pid files and then by their names.
. "$(cd "$(dirname "$0")" && pwd)/../condor/common.sh"
. "$here/../left.sh"
rm -f "$top/slurm24/env" # half stopped it is not up
run=$tree/var/lib/slurm24/run
if [ -s "$run/slurmctld.pid" ]; then
  inroot timeout 20 scancel -p short,long,infinite 2>/dev/null
  for _ in $(seq 40); do [ -z "$(inroot timeout 5 squeue -h -t R,CG 2>/dev/null)" ] && break; sleep .25; done
fi
for f in "$run"/slurmd-*.pid; do [ ! -e "$f" ] || stop_pid "$f" slurmd; done
for n in slurmctld slurmdbd munged; do stop_pid "$run/$n.pid" $n; done
stop_pid "$tree/var/lib/slurm24/mysql/mariadbd.pid" mariadbd
left slurmd slurmstepd slurmctld slurmdbd mariadb-install mariadbd munged
exit 0
