# Sourced by the other scripts; no side effects. State: $GRID_TESTBED_DIR/arc.
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
STATE=${GRID_TESTBED_DIR:-/tmp/grid-testbed}/arc
CHROOT=$STATE/debian13                 # Debian 13 tree with ARC 7
RAM=/dev/shm$STATE                     # the job files of the 6.17 CEs, where there is room: see in_ram
SUITE=${GRID_TESTBED_ARC7_SUITE:-trixie}
JAIL=/srv/grid-testbed                 # where the ARC 7 CEs keep their state, seen from inside the chroot
GRIDUSER=gridtest                      # local user that grid jobs run as
DOM=arc.test
PORT0=${GRID_TESTBED_ARC_PORT:-24400}  # below the ephemeral range
MARK='# grid-testbed-arc'              # tags our lines in /etc/hosts

CES6="arex1 arex2 arex3"
CES7="arex4 arex5"
CE_SLURM=arex6                         # of 6.17, in front of the testbed's Slurm: slurmce/up.sh starts it
CE_BREAK=arex7                         # of 6.17, for the tests that freeze, kill and fill one: they start it
ISSUER=https://issuer.$DOM:$((PORT0 + 9))
declare -A SLOTS=([arex1]=2 [arex2]=4 [arex3]=8 [arex4]=2 [arex5]=8 [arex6]=64 [arex7]=2)
declare -A QUEUES=([arex1]="short long" [arex2]="main" [arex3]="batch gpu" [arex4]="short long" [arex5]="batch gpu" [arex6]="short long" [arex7]="short long")
# jobs of all states that the CE keeps at most (-1: no limit); 6.17 does not look at it for REST
declare -A LIMIT=([arex1]=-1 [arex2]=-1 [arex3]=-1 [arex4]=-1 [arex5]=300 [arex6]=-1 [arex7]=-1)
declare -A RTES=(
  [arex1]="APPS/BIO/BLAST-2.14.0 APPS/HEP/ATLAS-23.0.1"
  [arex2]="APPS/HEP/ATLAS-23.0.1 APPS/HEP/ATLAS-22.0.0 APPS/MATH/R-4.2"
  [arex3]="APPS/HEP/GEANT4-11.1 APPS/ML/PYTORCH-2.1"
  [arex4]="APPS/BIO/BLAST-2.14.0 APPS/HEP/ATLAS-23.0.1"
  [arex5]="APPS/HEP/GEANT4-11.1 APPS/HEP/ATLAS-22.0.0 APPS/ML/PYTORCH-2.1"
  [arex6]="APPS/HEP/ATLAS-23.0.1"
  [arex7]="APPS/HEP/ATLAS-23.0.1")

rest_port() { echo $((PORT0 + 30 + ${1#arex})); }
ldap_port() { echo $((PORT0 + 50 + ${1#arex})); }
is7() { case " $CES7 " in *" $1 "*) return 0 ;; esac; return 1; }
# A CE's state folder from outside, and as the CE itself sees it.
outside() { if is7 "$1"; then echo "$CHROOT$JAIL"; else echo "$STATE/ce"; fi; }
inside() { if is7 "$1"; then echo "$JAIL"; else echo "$STATE/ce"; fi; }
root_of() { if is7 "$1"; then echo "$CHROOT"; fi; }
have7() { [ -f "$CHROOT/.complete" ]; }

jailed() { chroot "$CHROOT" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 "$@"; }
# Runs a command where the CE lives: at CE [VAR=value...] command...
at() {
  local ce=$1; shift
  if is7 "$ce"; then jailed "$@"; else env "$@"; fi
}

# Is the process ours: its root is our chroot, or its command line or working directory lies below our state.
ours() {
  [ -d "/proc/$1" ] || return 1
  [ "$(readlink "/proc/$1/root" 2>/dev/null)" = "$CHROOT" ] && return 0
  tr '\0' ' ' <"/proc/$1/cmdline" 2>/dev/null | grep -qF -- "$STATE/" && return 0
  case "$(readlink "/proc/$1/cwd" 2>/dev/null)" in "$STATE"/* | "$RAM"/*) return 0 ;; esac
  return 1
}
pid_in() { [ -s "$1" ] && head -1 "$1" | tr -dc 0-9; }
alive() { local p; p=$(pid_in "$1") && [ -n "$p" ] && ours "$p"; }
say() { echo "testbed/arc: $*"; }
