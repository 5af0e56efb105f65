#!/bin/bash
# down.sh - stops what up.sh started, by its own pid files and names, and unmounts. The
# tree with the packages stays. Idempotent.
. "$(dirname "$0")/common.sh"
. "$here/../left.sh"
rm -f "$st/env" # half stopped it is not up
"$here/../slurm24/down.sh" # it runs in the same tree
kids() { local c; for c in $(cat /proc/"$1"/task/*/children 2>/dev/null); do echo "$c"; kids "$c"; done; }
for master in "$tree"/var/lib/condor-{ce,pool}/run/master.pid; do
  all=
  if [ -s "$master" ]; then all=$(kids "$(tr -dc 0-9 <"$master")"); fi
  stop_pid "$master" condor_master QUIT
  for k in $all; do
    ! ours "$k" || kill -9 "$k" 2>/dev/null
  done
done
stop_pid "$tree/run/sshd-testbed.pid" sshd
left condor_master condor_schedd condor_startd condor_collect condor_negotia condor_shared_p condor_job_rout condor_procd condor_starter condor_shadow sshd
umount_tree
exit 0
