#!/bin/bash
# up.sh - a real Slurm 24.11 on loopback for the tests, of Debian 13's packages in the tree
# in which the HTCondor pool runs: munge, MariaDB, slurmdbd, slurmctld and eight slurmd, with
# the queues of the other Slurm. It is reached through the tree's sshd, as its user.
#
#   testdata/testbed/slurm24/up.sh
#   . ${GRID_TESTBED_DIR:-/tmp/grid-testbed}/slurm24/env
#
# Idempotent. Needs root and the sshd that condor/up.sh starts; down.sh stops it.
# Ports, all on 127.0.0.1: slurmctld 17940, slurmdbd 17941, slurmd 17942-17949.
set -euo pipefail
own=$(cd "$(dirname "$0")" && pwd)
. "$own/../condor/common.sh"
. "$own/../slurm/cluster.sh"
lab=$top/slurm24
dir=/var/lib/slurm24 # in the tree
base=17940
[ -s "$tree/run/sshd-testbed.pid" ] || { echo "condor/up.sh starts the tree's sshd" >&2; exit 3; }
if [ -e "$lab/env" ] && [ -n "$(inuser timeout 5 sinfo -h 2>/dev/null)" ]; then
  echo "already up: . $lab/env"; exit 0
fi
"$own/down.sh" >/dev/null
rm -rf "${tree:?}$dir" "$lab"
mkdir -p "$tree$dir"/{ctld,log,run,d,mysql} "$tree/run/munge" "$tree/run/mysqld" "$tree/etc/munge" "$lab"
host=$(hostname -s)

# Munge, where its clients look for it.
( umask 077; head -c 1024 /dev/urandom >"$tree/etc/munge/munge.key" )
chmod 755 "$tree/run/munge"
inroot chown root: /etc/munge /etc/munge/munge.key /run/munge /var/lib/munge /var/log/munge
inroot munged --force --pid-file=$dir/run/munged.pid

# Accounting over a socket that root alone may use as root.
inroot chown mysql:mysql $dir/mysql /run/mysqld
inroot mariadb-install-db --no-defaults --user=mysql --datadir=$dir/mysql --skip-test-db \
  --auth-root-authentication-method=socket >"$tree$dir/log/mariadb-install.log" 2>&1
setsid chroot "$tree" "${clean_env[@]}" mariadbd --no-defaults --user=mysql --datadir=$dir/mysql --socket=/run/mysqld/mysqld.sock \
  --pid-file=$dir/mysql/mariadbd.pid --skip-networking --innodb-buffer-pool-size=64M --innodb-lock-wait-timeout=900 \
  >"$tree$dir/log/mariadbd.log" 2>&1 </dev/null &
for _ in $(seq 100); do [ -S "$tree/run/mysqld/mysqld.sock" ] && break; sleep .1; done
( umask 077; cat >"$tree/etc/slurm/slurmdbd.conf" <<C
AuthType=auth/munge
CommunicationParameters=NoInAddrAny
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=$((base + 1))
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm_acct_db
LogFile=$dir/log/slurmdbd.log
PidFile=$dir/run/slurmdbd.pid
C
)
cat >"$tree/etc/slurm/slurm.conf" <<C
ClusterName=gridtest24
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$base
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation=$dir/ctld
SlurmctldPidFile=$dir/run/slurmctld.pid
SlurmctldLogFile=$dir/log/slurmctld.log
SlurmdPidFile=$dir/run/slurmd-%n.pid
SlurmdLogFile=$dir/log/slurmd-%n.log
SlurmdSpoolDir=$dir/d/%n
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
$(scheduling)
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=2
MinJobAge=300
MaxJobCount=50000
MaxArraySize=1001
KillWait=3
GresTypes=gpu
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$((base + 1))
$(nodes "$host" $((base + 2)))
$(partitions)
C
touch "$tree$dir/gpu0" "$tree$dir/gpu1" # stand for device files
printf 'NodeName=n8 Name=gpu File=%s/gpu[0-1]\n' $dir >"$tree/etc/slurm/gres.conf"
printf 'CgroupPlugin=disabled\n' >"$tree/etc/slurm/cgroup.conf"
# Debian 13's libmariadb3 11.8.9 gives slurmdbd no result ("exceeds maximum allowed number of
# columns (=0)"), so it ends at once: it gets Debian 12's.
library=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p | awk '/libmariadb.so.3 /{print $NF; exit}')
[ -n "$library" ] || { echo "no libmariadb3 here: slurm/up.sh installs it" >&2; exit 3; }
install -D "$library" "$tree/opt/libmariadb/libmariadb.so.3"
inroot env LD_LIBRARY_PATH=/opt/libmariadb slurmdbd
for _ in $(seq 60); do inroot timeout 5 sacctmgr -n show cluster >/dev/null 2>&1 && break; sleep .3; done
inroot sacctmgr -i add cluster gridtest24 >/dev/null 2>&1 || true
inroot sacctmgr -i add account grid >/dev/null 2>&1 || true
inroot sacctmgr -i add user root,$user account=grid >/dev/null 2>&1 || true
inroot sacctmgr -i modify user $user set adminlevel=Operator >/dev/null # who may reserve
ulimit -n 8192 2>/dev/null || true
inroot slurmctld
for i in $(seq 8); do mkdir -p "$tree$dir/d/n$i"; inroot slurmd -N "n$i"; done

# Its commands, as the user of the tree.
mkdir -p "$lab/bin"
for command in sbatch squeue scancel sinfo scontrol sacct sacctmgr sshare sprio sdiag; do
  printf '#!/bin/sh\nexec chroot --userspec=%s:%s %q /usr/bin/env -i PATH=/usr/bin:/bin HOME=/home/%s USER=%s LANG=C.UTF-8 ${SLURM_TIME_FORMAT:+SLURM_TIME_FORMAT=$SLURM_TIME_FORMAT} %s "$@"\n' \
    $user $user "$tree" $user $user $command >"$lab/bin/$command"
  chmod 755 "$lab/bin/$command"
done

sed "s/^Host .*/Host slurm24/" "$st/ssh/config" >"$lab/ssh_config"
for _ in $(seq 200); do
  s=$(inuser timeout 3 sinfo -h -o %T 2>/dev/null || true)
  [ -n "$s" ] && ! grep -qE 'unk|down|inval|no_resp' <<<"$s" && { ok=1; break; }
  sleep .2
done
[ -n "${ok:-}" ] || { echo "slurmctld did not come up:" >&2; tail -5 "$tree$dir/log/slurmctld.log" >&2; exit 1; }
printf 'GRID_SLURM_BIN=%q\nGRID_SLURM24_SSH_CONFIG=%q\n' "$lab/bin" "$lab/ssh_config" >"$lab/env"
inuser sinfo
echo "up: . $lab/env"
