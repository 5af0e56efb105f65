#!/bin/bash
# up.sh - a real HTCondor pool on loopback for the tests: collector, negotiator,
# schedd and startd of Debian 13's package, in a tree of its own, and an sshd.
#
#   testdata/testbed/condor/up.sh
#   . ${GRID_TESTBED_DIR:-/tmp/grid-testbed}/condor/env
#
# Eight slots of one core that take jobs of at most an hour (START says so), and
# a partitionable slot of eight cores and two GPUs that takes all. Jobs run as
# the user "condorjob". Idempotent. Needs root; down.sh stops it.
# ce.sh, called at the end, puts an HTCondor-CE in front.
# Ports, all on 127.0.0.1: the pool 17900 (and 17901-17908), sshd 17909.
set -euo pipefail
. "$(dirname "$0")/common.sh"
"$here/install.sh" >"$top/condor.install.log" 2>&1 || { tail -3 "$top/condor.install.log" >&2; exit 1; }
if [ -e "$st/env" ] && [ -n "$(inuser timeout 10 condor_status -schedd -af Name 2>/dev/null)" ]; then
  "$here/ce.sh"; echo "already up: . $st/env"; exit 0
fi
"$here/down.sh" >/dev/null
mount_tree
pool=/var/lib/condor-pool
rm -rf "${tree:?}$pool" "$st/bin" "$st/ssh"
mkdir -p "$tree$pool"/{log,spool,execute,lock,run,tokens.d,passwords.d} "$st/bin" "$st/ssh"
inroot chown condor:condor $pool $pool/log $pool/spool $pool/execute $pool/lock $pool/run
chmod 700 "$tree$pool/tokens.d" "$tree$pool/passwords.d"; chmod 755 "$tree$pool/execute" "$st" "$st/job"
# What both sides share: only loopback, FS for this machine, tokens for others.
common="$paths
NO_DNS = True
DEFAULT_DOMAIN_NAME = testbed
UID_DOMAIN = testbed
TRUST_DOMAIN = testbed"
cat >"$tree/etc/condor-pool.conf" <<C
$common
$(daemons "$pool" "$port")
CONDOR_HOST = 127.0.0.1
COLLECTOR_HOST = 127.0.0.1:$port
COLLECTOR_NAME = testbed
DAEMON_LIST = MASTER, COLLECTOR, NEGOTIATOR, SCHEDD, STARTD
SCHEDD_NAME = schedd@testbed
STARTD_NAME = node@testbed
MASTER_NAME = master@testbed
SEC_DEFAULT_AUTHENTICATION_METHODS = FS, IDTOKENS
SEC_CLIENT_AUTHENTICATION_METHODS = FS, IDTOKENS
SEC_TOKEN_POOL_SIGNING_KEY_FILE = $pool/passwords.d/POOL
ALLOW_ADVERTISE_STARTD = condor@testbed, root@testbed
BASE_CGROUP =
NEGOTIATOR_INTERVAL = 5
NEGOTIATOR_CYCLE_DELAY = 2
NEGOTIATOR_MIN_INTERVAL = 2
SCHEDD_INTERVAL = 10
UPDATE_INTERVAL = 15
COLLECTOR_UPDATE_INTERVAL = 15
JOB_START_COUNT = 50
JOB_START_DELAY = 0
MAX_JOBS_RUNNING = 200
SUSPEND = False
PREEMPT = False
KILL = False
WANT_SUSPEND = False
WANT_VACATE = False
NUM_CPUS = 16
MEMORY = 24000
MACHINE_RESOURCE_GPUs = GPU-fake0, GPU-fake1
SLOT_TYPE_1 = cpus=1, mem=1000, disk=5%, GPUs=0
SLOT_TYPE_1_PARTITIONABLE = False
NUM_SLOTS_TYPE_1 = 8
SLOT_TYPE_2 = cpus=8, mem=16000, disk=50%, GPUs=2
SLOT_TYPE_2_PARTITIONABLE = True
NUM_SLOTS_TYPE_2 = 1
START = True
SLOT_TYPE_1_START = TARGET.AllowedJobDuration is undefined || TARGET.AllowedJobDuration <= 3900
STARTD_ATTRS = \$(STARTD_ATTRS), SiteName, HasVEE
SiteName = "TESTBED"
HasVEE = "VEE-Debian13"
SCHEDD_ATTRS = \$(SCHEDD_ATTRS), SiteName
QUEUE_SUPER_USERS = root, condor
MAX_HISTORY_LOG = 200000000
C
# What a client elsewhere would have: an address and a token.
cat >"$tree/etc/condor-client.conf" <<C
$common
LOG = /tmp
SPOOL = /tmp
COLLECTOR_HOST = 127.0.0.1:$port
SEC_CLIENT_AUTHENTICATION_METHODS = IDTOKENS
SEC_DEFAULT_AUTHENTICATION = REQUIRED
SEC_DEFAULT_INTEGRITY = REQUIRED
C
( umask 077; head -c 64 /dev/urandom >"$tree$pool/passwords.d/POOL" )
inroot bash -c "ulimit -n 8192; exec condor_master -pidfile $pool/run/master.pid"

# The commands, as seen from outside of the tree: as the job's user, in the
# directory they are called in, with what the caller's environment says. What
# is submitted is given to that user first: the tests run as another one.
for command in condor_submit condor_q condor_history condor_rm condor_status condor_tail condor_transfer_data condor_hold \
  condor_release condor_qedit condor_suspend condor_continue condor_version condor_ping condor_userprio condor_config_val condor_vacate_job; do
  cat >"$st/bin/$command" <<C
#!/bin/sh
case \$PWD in
"$st/job/"*/batches/*) base=\${PWD%%/batches/*}; chmod 711 "\$base"; chown -R 5017:5017 "\$base/jobs" "\$base/batches" ;;
esac
exec chroot --userspec=$user:$user "$tree" /usr/bin/env PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 USER=$user \\
  HOME=/home/$user CONDOR_CONFIG="\${CONDOR_CONFIG:-/etc/condor-pool.conf}" \\
  sh -c 'cd "\$0" 2>/dev/null || cd /; exec "\$@"' "\$PWD" $command "\$@"
C
  chmod 755 "$st/bin/$command"
done

# sshd inside of the tree: keys only, loopback only.
keys=/home/$user/.sshd
rm -rf "${tree:?}$keys"; mkdir -p "$tree$keys" "$tree/run/sshd"
ssh-keygen -q -t ed25519 -N '' -f "$tree$keys/host"; ssh-keygen -q -t ed25519 -N '' -f "$st/ssh/id"
cp "$st/ssh/id.pub" "$tree$keys/authorized_keys"
cat >"$tree$keys/sshd_config" <<C
Port $ssh_port
ListenAddress 127.0.0.1
HostKey $keys/host
PidFile /run/sshd-testbed.pid
AuthorizedKeysFile $keys/authorized_keys
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
PerSourcePenalties no
MaxSessions 100
MaxStartups 100
SetEnv CONDOR_CONFIG=/etc/condor-pool.conf
Subsystem sftp internal-sftp
C
inroot /usr/sbin/sshd -f $keys/sshd_config -E /var/log/sshd-testbed.log
echo "[127.0.0.1]:$ssh_port $(cut -d' ' -f1,2 "$tree$keys/host.pub")" >"$st/ssh/known_hosts"
cat >"$st/ssh/config" <<C
Host condorlab
  HostName 127.0.0.1
  Port $ssh_port
  User $user
  IdentityFile $st/ssh/id
  IdentitiesOnly yes
  UserKnownHostsFile $st/ssh/known_hosts
  GlobalKnownHostsFile /dev/null
C

for _ in $(seq 150); do
  [ "$(inuser condor_status -af Name 2>/dev/null | wc -l)" -ge 9 ] && [ -n "$(inuser condor_status -schedd -af Name 2>/dev/null)" ] && { ok=1; break; }
  sleep .2
done
[ -n "${ok:-}" ] || { echo "the pool did not come up:" >&2; tail -5 "$tree$pool/log/MasterLog" >&2; exit 1; }
inroot condor_token_create -identity $user@testbed -authz READ -authz WRITE -lifetime 864000 >"$st/token" 2>/dev/null
mkdir -p "$st/job/tokens.d"; cp "$st/token" "$st/job/tokens.d/testbed"; chown -R 5017:5017 "$st/job/tokens.d"; chmod 700 "$st/job/tokens.d"; chmod 600 "$st/job/tokens.d/testbed" "$st/token"
"$here/ce.sh"
( umask 077; cat >"$st/env" <<C
GRID_CONDOR_BIN=$st/bin
GRID_CONDOR_JOBS=$st/job
GRID_CONDOR_SSH=$st/ssh
GRID_CONDOR_SSH_URL=condor+ssh://condorlab
GRID_CONDOR_REMOTE=127.0.0.1:$port
GRID_CONDOR_CLIENT_CONFIG=/etc/condor-client.conf
GRID_CONDOR_TOKENS=$st/job/tokens.d
GRID_CONDOR_TREE=$tree
GRID_CONDOR_CE=$ce_name:$ce_port
GRID_CONDOR_CE_CONFIG=/etc/condor-ce-client.conf
GRID_CONDOR_CE_CERTIFICATES=$st/job/certificates
GRID_CONDOR_CE_ISSUER=$ce_issuer
GRID_CONDOR_CE_ISSUER_DIR=$st/issuer
C
)
inuser condor_status -compact
echo "up: . $st/env"
