# common.sh - sourced by the scripts beside it.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=${GRID_TESTBED_DIR:-/tmp/grid-testbed}
st=$top/condor
tree=$st/debian13
user=condorjob
port=17900
ssh_port=17909
ce_port=17920
ce_name=ce.condor.test # of the HTCondor-CE, in the tree's /etc/hosts
ce_issuer=https://issuer.condor.test # of its tokens; it has no web page
export DEBIAN_FRONTEND=noninteractive

mounted() { grep -q " $1 " /proc/self/mounts; }

# mount_tree makes the tree fit to run servers in. It must be a mount point of
# its own: HTCondor's starter makes a mount namespace for every job and gets
# EINVAL for "/" otherwise.
mount_tree() {
  mounted "$tree" || mount --bind "$tree" "$tree"
  mount --make-private "$tree"
  mounted "$tree/proc" || mount -t proc proc "$tree/proc"
  mounted "$tree/sys" || mount --rbind -o ro /sys "$tree/sys"
  mount --make-rslave "$tree/sys"
  mounted "$tree/dev" || mount --bind /dev "$tree/dev"
  mounted "$tree/dev/pts" || mount --bind /dev/pts "$tree/dev/pts"
  mounted "$tree/dev/shm" || mount --bind /dev/shm "$tree/dev/shm"
  mkdir -p "$st/job" "$tree$st/job"
  mounted "$tree$st/job" || mount --bind "$st/job" "$tree$st/job"
}

# umount_tree takes away what lies under the tree, deepest first.
umount_tree() {
  local m
  for m in $(awk -v d="$tree" '$2==d||index($2,d"/")==1{print $2}' /proc/self/mounts | sort -r); do
    umount "$m" 2>/dev/null || umount -l "$m"
  done
}

clean_env=(/usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8)
inroot() { chroot "$tree" "${clean_env[@]}" HOME=/root CONDOR_CONFIG=/etc/condor-pool.conf "$@"; }
inuser() { chroot --userspec=$user:$user "$tree" "${clean_env[@]}" USER=$user HOME=/home/$user CONDOR_CONFIG=/etc/condor-pool.conf "$@"; }

# ours tells whether a process runs in the tree.
ours() { [ "$(readlink "/proc/$1/root" 2>/dev/null)" = "$tree" ]; }

# stop_pid ends the process of a pid file if its command line holds a word.
stop_pid() { # PIDFILE WORD [SIGNAL]
  local p
  [ -s "$1" ] || { rm -f "$1"; return 0; }
  p=$(tr -dc 0-9 <"$1")
  if [ -n "$p" ] && ours "$p" && tr '\0' ' ' <"/proc/$p/cmdline" | grep -q -- "$2"; then
    kill -"${3:-TERM}" "$p" 2>/dev/null
    for _ in $(seq 200); do [ -d "/proc/$p" ] || break; sleep .1; done
    [ ! -d "/proc/$p" ] || kill -9 "$p" 2>/dev/null
    echo "stopped $2 ($p)"
  fi
  rm -f "$1"
}

# paths is what every configuration says: where the package lies, only loopback.
paths="RELEASE_DIR = /usr
BIN = /usr/bin
SBIN = /usr/sbin
LIB = /usr/lib/condor
LIBEXEC = /usr/libexec/condor
SHARE = /usr/share/condor
LOCAL_CONFIG_DIR =
REQUIRE_LOCAL_CONFIG_FILE = false
NETWORK_INTERFACE = 127.0.0.1
BIND_ALL_INTERFACES = False
ENABLE_IPV6 = False"

# daemons is what the pool and the CE both say of themselves: the directory where all lies,
# and the first of the ports.
daemons() { # DIRECTORY PORT
  cat <<C
LOCAL_DIR = $1
LOG = $1/log
SPOOL = $1/spool
EXECUTE = $1/execute
LOCK = $1/lock
RUN = $1/run
USE_SHARED_PORT = True
SHARED_PORT_PORT = $2
SCHEDD_SUPER_ADDRESS_FILE =
COLLECTOR_SUPER_ADDRESS_FILE =
IN_LOWPORT = $(($2 + 1))
IN_HIGHPORT = $(($2 + 8))
DAEMON_SOCKET_DIR = $1/run/sock
FILESYSTEM_DOMAIN = testbed
TRUST_UID_DOMAIN = True
SEC_DEFAULT_AUTHENTICATION = REQUIRED
SEC_DEFAULT_ENCRYPTION = OPTIONAL
SEC_DEFAULT_INTEGRITY = REQUIRED
SEC_TOKEN_SYSTEM_DIRECTORY = $1/tokens.d
SEC_PASSWORD_DIRECTORY = $1/passwords.d
ALLOW_READ = *@testbed
ALLOW_WRITE = *@testbed
ALLOW_DAEMON = condor@testbed, root@testbed
ALLOW_NEGOTIATOR = condor@testbed, root@testbed
ALLOW_ADMINISTRATOR = condor@testbed, root@testbed
ALLOW_ADVERTISE_MASTER = condor@testbed, root@testbed
ALLOW_ADVERTISE_SCHEDD = condor@testbed, root@testbed
ALLOW_CLIENT = *
C
}
