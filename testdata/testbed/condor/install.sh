#!/bin/bash
# Makes a Debian 13 tree with HTCondor and Slurm 24.11 in it: Debian 12 has no package of the
# first, and 22.05 of the second.
# Idempotent. Needs root and debootstrap; a machine without says so and fails.
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ -e "$tree/.complete" ] && [ -x "$tree/usr/sbin/slurmdbd" ] && exit 0
[ "$(id -u)" = 0 ] || { echo "must run as root" >&2; exit 3; }
apt="apt-get -q -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3"
command -v debootstrap >/dev/null || { $apt update; $apt install -y --no-install-recommends debootstrap debian-archive-keyring; }
# The mirror this machine itself uses.
mirror=$(awk '/^URIs:/{print $2; exit}' /etc/apt/sources.list.d/*.sources 2>/dev/null || true)
[ -n "$mirror" ] || mirror=$(awk '$1=="deb"{for(i=2;i<=NF;i++) if($i ~ /^https?:/){print $i; exit}}' /etc/apt/sources.list 2>/dev/null || true)
: "${mirror:?apt has no Debian mirror}"
script=/usr/share/debootstrap/scripts/trixie
[ -e "$script" ] || script=/usr/share/debootstrap/scripts/sid
if [ ! -e "$tree/.bootstrapped" ]; then
  umount_tree
  rm -rf --one-file-system "$tree"; mkdir -p "$tree"
  debootstrap --variant=minbase trixie "$tree" "$mirror" "$script"
  touch "$tree/.bootstrapped"
fi
printf '#!/bin/sh\nexit 101\n' >"$tree/usr/sbin/policy-rc.d"; chmod 755 "$tree/usr/sbin/policy-rc.d"
printf 'deb %s trixie main\n' "$mirror" >"$tree/etc/apt/sources.list"
cp -L /etc/resolv.conf "$tree/etc/resolv.conf" 2>/dev/null || true
for f in /etc/apt/apt.conf.d/*proxy* /etc/apt/apt.conf.d/*artifact*; do [ ! -f "$f" ] || cp "$f" "$tree/etc/apt/apt.conf.d/"; done
printf '127.0.0.1 localhost\n127.0.0.1 %s\n' "$(hostname)" >"$tree/etc/hosts"
mount_tree
trap umount_tree EXIT
inroot $apt update
# The package's script fails where CONDOR_CONFIG names a file that is not there.
inroot env -u CONDOR_CONFIG DEBIAN_FRONTEND=noninteractive $apt install -y --no-install-recommends \
  condor procps openssh-server openssh-client ca-certificates curl python3-minimal proot \
  slurmctld slurmd slurmdbd slurm-client munge mariadb-server
# "*" is no password, but not a locked account, which sshd without PAM refuses.
inroot id $user >/dev/null 2>&1 || inroot useradd -u 5017 -U -m -s /bin/bash -p '*' $user
touch "$tree/.complete"
