#!/bin/bash
# down.sh - stops what up.sh started, by its own pid files, and unmounts. The
# tree with the packages stays. Idempotent.
. "$(dirname "$0")/common.sh"
"$here/../slurm24/down.sh" # it runs in the same tree
kids() { local c; for c in $(cat /proc/"$1"/task/*/children 2>/dev/null); do echo "$c"; kids "$c"; done; }
for master in "$tree"/var/lib/condor-{ce,pool}/run/master.pid; do
  all=
  if [ -s "$master" ]; then all=$(kids "$(tr -dc 0-9 <"$master")"); fi
  stop_pid "$master" condor_master QUIT
  for k in $all; do
    if [ -d "/proc/$k" ] && [ "$(readlink "/proc/$k/root")" = "$tree" ]; then kill -9 "$k" 2>/dev/null; fi
  done
done
stop_pid "$tree/run/sshd-testbed.pid" sshd
umount_tree
rm -f "$st/env"
exit 0
