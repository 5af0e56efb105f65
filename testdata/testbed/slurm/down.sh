#!/bin/bash
# down.sh - stop what up.sh started: jobs first, then the daemons, by their own pid files and then by
# their names, each checked against the process's command line or environment.
export PATH=$PATH:/usr/sbin
st=${GRID_TESTBED_DIR:-/tmp/grid-testbed}/slurm
. "$(dirname "${BASH_SOURCE[0]}")/../left.sh"
ours() { [ -d "/proc/$1" ] && { tr '\0' ' ' <"/proc/$1/cmdline"; tr '\0' ' ' <"/proc/$1/environ"; } 2>/dev/null | grep -qF -- "$st/"; }
stop() {
  [ -s "$1" ] || { rm -f "$1"; return 0; }
  local p; p=$(tr -d '[:space:]' <"$1")
  if ours "$p"; then
    kill "$p" 2>/dev/null
    for _ in $(seq 100); do [ -d "/proc/$p" ] || break; sleep .1; done
    if ours "$p"; then kill -9 "$p" 2>/dev/null; fi
    echo "stopped $(basename "$1" .pid) ($p)"
  fi
  rm -f "$1"
}
rm -f "$st/env" # half stopped it is not up
if [ -s "$st/run/slurmctld.pid" ] && ours "$(tr -d '[:space:]' <"$st/run/slurmctld.pid")"; then
  export SLURM_CONF=$st/slurm.conf
  timeout 20 scancel --state=PENDING -u "$(id -un)" 2>/dev/null
  timeout 20 scancel -u "$(id -un)" 2>/dev/null
  for _ in $(seq 40); do [ -z "$(timeout 5 squeue -h -t R,CG 2>/dev/null)" ] && break; sleep .25; done
fi
stop "$st/run/sshd.pid"
for f in "$st"/run/slurmd-*.pid; do [ -e "$f" ] && stop "$f"; done
for n in slurmctld slurmdbd mariadbd munged; do stop "$st/run/$n.pid"; done
left sshd slurmd slurmstepd slurmctld slurmdbd mariadb-install mariadbd munged
exit 0
