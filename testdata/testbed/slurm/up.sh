#!/bin/bash
# up.sh - a real Slurm on loopback for the tests: munge, MariaDB, slurmdbd,
# slurmctld, eight slurmd of eight CPUs each on this one machine, and an sshd
# with its own host key and a user key. Everything runs as the caller.
#
#   testdata/testbed/slurm/up.sh [--no-accounting]
#   . ${GRID_TESTBED_DIR:-/tmp/grid-testbed}/slurm/env
#
# As root it installs what is missing from Debian's packages. Idempotent: when
# it is up already, it says so and ends. State lives in
# ${GRID_TESTBED_DIR:-/tmp/grid-testbed}/slurm; down.sh stops it.
# Ports, all on 127.0.0.1, unless GRID_TESTBED_SLURM_PORT names another first one:
# slurmctld 17801, slurmdbd 17802, MariaDB 17803, sshd 17804, slurmd 17811-17818.
# GRID_TESTBED_SLURM_MINJOBAGE is for how many seconds ended jobs are remembered.
# GRID_TESTBED_SLURM_GUESTS=SECONDS adds a partition "guest" over all nodes, whose
# jobs are safe for so long and then give way to those of the others.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/cluster.sh"
top=${GRID_TESTBED_DIR:-/tmp/grid-testbed}
st=$top/slurm
base=${GRID_TESTBED_SLURM_PORT:-17801}
dbd=1
[ "${1:-}" != --no-accounting ] || dbd=
missing=
for cmd in slurmctld slurmd slurmdbd munged sbatch sshd mariadbd; do
  PATH=$PATH:/usr/sbin command -v $cmd >/dev/null || missing="$missing $cmd"
done
if [ -n "$missing" ]; then
  [ "$(id -u)" = 0 ] || { echo "not installed:$missing; run as root to install Debian's packages" >&2; exit 3; }
  export DEBIAN_FRONTEND=noninteractive
  apt-get -o DPkg::Lock::Timeout=600 update -qq
  apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends \
    slurmctld slurmd slurmdbd slurm-client munge mariadb-server openssh-server openssh-client >/dev/null
fi
export PATH=$PATH:/usr/sbin
if [ -e "$st/env" ] && ( . "$st/env"; timeout 5 sinfo -h >/dev/null 2>&1 ); then
  echo "already up: . $st/env"; exit 0
fi
"$here/down.sh" >/dev/null
rm -rf "$st"
mkdir -p "$top"; chmod 755 "$top"
mkdir -p "$st"/{munge,ctld,log,run,d,mysql,ssh,job}; chmod 700 "$st/mysql" "$st/ssh"; chmod 711 "$st/munge" # other users submit, too
me=$(id -un); host=$(hostname -s)

# Munge with its own key and socket.
( umask 077; head -c 1024 /dev/urandom >"$st/munge/key" )
munged --force --key-file="$st/munge/key" --socket="$st/munge/sock" --pid-file="$st/run/munged.pid" \
  --log-file="$st/munge/log" --seed-file="$st/munge/seed" 2>>"$st/log/munged.err"

# Accounting: MariaDB on a loopback port with a random password, slurmdbd.
if [ -n "$dbd" ]; then
  pw=$(head -c 18 /dev/urandom | base64 | tr -d '+/=')
  mariadb-install-db --no-defaults --user="$me" --datadir="$st/mysql/data" --skip-test-db \
    --auth-root-authentication-method=normal >"$st/log/mariadb-install.log" 2>&1
  setsid mariadbd --no-defaults --user="$me" --datadir="$st/mysql/data" --socket="$st/mysql/sock" \
    --pid-file="$st/run/mariadbd.pid" --bind-address=127.0.0.1 --port=$((base + 2)) \
    --innodb-buffer-pool-size=64M --innodb-lock-wait-timeout=900 >"$st/log/mariadbd.log" 2>&1 </dev/null &
  for _ in $(seq 100); do [ -S "$st/mysql/sock" ] && break; sleep .1; done
  mariadb --no-defaults --socket="$st/mysql/sock" -u root <<SQL
CREATE DATABASE slurm_acct_db;
CREATE USER slurm@'127.0.0.1' IDENTIFIED BY '$pw';
CREATE USER slurm@'localhost' IDENTIFIED BY '$pw';
GRANT ALL ON slurm_acct_db.* TO slurm@'127.0.0.1';
GRANT ALL ON slurm_acct_db.* TO slurm@'localhost';
SQL
  ( umask 077; cat >"$st/slurmdbd.conf" <<C
AuthType=auth/munge
AuthInfo=socket=$st/munge/sock
CommunicationParameters=NoInAddrAny
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=$((base + 1))
SlurmUser=$me
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=$((base + 2))
StorageUser=slurm
StoragePass=$pw
StorageLoc=slurm_acct_db
LogFile=$st/log/slurmdbd.log
PidFile=$st/run/slurmdbd.pid
C
  )
fi

cat >"$st/slurm.conf" <<C
ClusterName=gridtest
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$base
SlurmUser=$me
SlurmdUser=$me
AuthType=auth/munge
AuthInfo=socket=$st/munge/sock
CredType=cred/munge
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation=$st/ctld
SlurmctldPidFile=$st/run/slurmctld.pid
SlurmctldLogFile=$st/log/slurmctld.log
SlurmdPidFile=$st/run/slurmd-%n.pid
SlurmdLogFile=$st/log/slurmd-%n.log
SlurmdSpoolDir=$st/d/%n
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
$(scheduling)
JobCompType=jobcomp/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=2
MinJobAge=${GRID_TESTBED_SLURM_MINJOBAGE:-300}
MaxJobCount=50000
MaxArraySize=1001
KillWait=3
GresTypes=gpu
$([ -n "$dbd" ] && printf 'AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=127.0.0.1\nAccountingStoragePort=%s\nAccountingStoragePass=%s/munge/sock\n' $((base + 1)) "$st")
$(nodes "$host" $((base + 10)))
$([ -z "${GRID_TESTBED_SLURM_GUESTS:-}" ] || printf 'PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\nPreemptExemptTime=00:00:%02d\nPartitionName=guest Nodes=n[1-8] PriorityTier=1 PreemptMode=REQUEUE MaxTime=00:30:00 DefaultTime=00:01:00 State=UP\n' "$GRID_TESTBED_SLURM_GUESTS")
$(partitions)
C
touch "$st/gpu0" "$st/gpu1" # stand for device files
printf 'NodeName=n8 Name=gpu File=%s/gpu[0-1]\n' "$st" >"$st/gres.conf"
printf 'CgroupAutomount=no\n' >"$st/cgroup.conf"
export SLURM_CONF=$st/slurm.conf
ulimit -n 8192 2>/dev/null || true
if [ -n "$dbd" ]; then
  slurmdbd
  for _ in $(seq 60); do timeout 5 sacctmgr -n show cluster >/dev/null 2>&1 && break; sleep .3; done
  sacctmgr -i add cluster gridtest >/dev/null 2>&1 || true
  sacctmgr -i add account grid >/dev/null 2>&1 || true
  sacctmgr -i add user "$me" account=grid >/dev/null 2>&1 || true
fi
slurmctld
for i in $(seq 8); do mkdir -p "$st/d/n$i"; slurmd -N "n$i"; done

# sshd: keys only, loopback only. id2 is a key that is not let in. Its users have an empty
# home: what the caller's shell does at its start is no part of a test.
mkdir -p "$st/ssh/home"
ssh-keygen -q -t ed25519 -N '' -f "$st/ssh/host"; ssh-keygen -q -t ecdsa -N '' -f "$st/ssh/host_ecdsa"
ssh-keygen -q -t ed25519 -N '' -f "$st/ssh/id"; ssh-keygen -q -t ed25519 -N '' -f "$st/ssh/id2"
cp "$st/ssh/id.pub" "$st/ssh/authorized_keys"
cat >"$st/ssh/sshd_config" <<C
Port $((base + 3))
ListenAddress 127.0.0.1
HostKey $st/ssh/host
HostKey $st/ssh/host_ecdsa
PidFile $st/run/sshd.pid
AuthorizedKeysFile $st/ssh/authorized_keys
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
UsePAM no
StrictModes no
MaxSessions 100
MaxStartups 100
SetEnv SLURM_CONF=$SLURM_CONF HOME=$st/ssh/home
Subsystem sftp internal-sftp
C
[ "$(id -u)" != 0 ] || mkdir -p /run/sshd
"$(command -v sshd)" -f "$st/ssh/sshd_config" -E "$st/log/sshd.log"
echo "[127.0.0.1]:$((base + 3)) $(cut -d' ' -f1,2 "$st/ssh/host.pub")" >"$st/ssh/known_hosts"
cat >"$st/ssh/config" <<C
Host gridlab
  HostName 127.0.0.1
  Port $((base + 3))
  User $me
  IdentityFile $st/ssh/id
  IdentitiesOnly yes
  UserKnownHostsFile $st/ssh/known_hosts
  GlobalKnownHostsFile /dev/null
C

# again starts the slurmd anew of nodes that do not come: one whose port was taken has ended.
again() { # NODE STATE...
  local n
  for n in $(awk '$2 ~ /unk|down|inval|no_resp/ {print $1}' <<<"$1"); do
    echo "the slurmd of $n is started again; it said:" >&2
    tail -n 2 "$st/log/slurmd-$n.log" >&2 || true
    [ ! -s "$st/run/slurmd-$n.pid" ] || kill "$(cat "$st/run/slurmd-$n.pid")" 2>/dev/null || true
    sleep .5
    slurmd -N "$n" || true
  done
}
for i in $(seq 400); do
  s=$(timeout 3 sinfo -N -h -o '%N %T' 2>/dev/null | sort -u || true)
  [ -n "$s" ] && ! grep -qE 'unk|down|inval|no_resp' <<<"$s" && { ok=1; break; }
  [ $((i % 60)) != 0 ] || again "$s"
  sleep .2
done
[ -n "${ok:-}" ] || { echo "slurmctld did not come up:" >&2; tail -5 "$st/log/slurmctld.log" >&2; exit 1; }
( umask 077; printf 'export SLURM_CONF=%q GRID_SLURM_SSH=%q GRID_SLURM_SSH_URL=%q\n' "$SLURM_CONF" "$st/ssh" "slurm+ssh://gridlab$st/job" >"$st/env" )
sinfo
echo "up: . $st/env"
