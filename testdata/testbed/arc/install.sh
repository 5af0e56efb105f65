#!/bin/bash
# Installs what the testbed needs: ARC 6.17 from Debian 12's packages on this machine, ARC 7 from Debian 13's
# packages in a chroot. Idempotent. Needs root. Without debootstrap (or chroot) it says so and leaves ARC 7 out.
set -e
. "$(dirname "$0")/common.sh"
export DEBIAN_FRONTEND=noninteractive
APT="apt-get -q -o DPkg::Lock::Timeout=900 -o Acquire::Retries=3"
COMMON="nordugrid-arc-arex nordugrid-arc-infosys-ldap nordugrid-arc-client nordugrid-arc-arcctl
  nordugrid-arc-arcctl-service nordugrid-arc-plugins-needed nordugrid-arc-plugins-internal
  slapd ldap-utils bdii glue-schema libwww-perl openssl curl time procps hostname"
mkdir -p "$STATE"
installed() { # root package...
  local root=$1 n; shift
  n=$(dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${db:Status-Status}\n' "$@" 2>/dev/null | grep -cx installed)
  [ "$n" = $# ]
}
# No daemon may start itself while packages are installed.
hold() { [ -e "$1/usr/sbin/policy-rc.d" ] || { printf '#!/bin/sh\nexit 101\n' >"$1/usr/sbin/policy-rc.d"; chmod 755 "$1/usr/sbin/policy-rc.d"; touch "$1/usr/sbin/.policy-rc.d.testbed"; }; }
release() { [ ! -e "$1/usr/sbin/.policy-rc.d.testbed" ] || rm -f "$1/usr/sbin/policy-rc.d" "$1/usr/sbin/.policy-rc.d.testbed"; }

install6() {
  # shellcheck disable=SC2086
  installed "" $COMMON nordugrid-arc-plugins-arcrest && return 0
  [ "$(. /etc/os-release; echo "$VERSION_ID")" = 12 ] || { say "ARC 6.17 comes with Debian 12; this is another system"; return 1; }
  echo 'slapd slapd/no_configuration boolean true' | debconf-set-selections
  hold ""; trap 'release ""' EXIT
  $APT update
  # shellcheck disable=SC2086
  $APT install -y --no-install-recommends $COMMON nordugrid-arc-plugins-arcrest ca-certificates
  release ""
}

# The mirror this machine itself uses.
mirror() {
  local u
  u=$(awk '/^URIs:/{print $2; exit}' /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list.d/*.sources 2>/dev/null)
  [ -n "$u" ] || u=$(awk '$1=="deb"{for(i=2;i<=NF;i++) if($i ~ /^https?:/){print $i; exit}}' /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null)
  echo "${u:-http://deb.debian.org/debian}"
}

bootstrap() {
  [ -f "$CHROOT/.bootstrapped" ] && return 0
  command -v debootstrap >/dev/null || $APT install -y --no-install-recommends debootstrap debian-archive-keyring
  # Debian 12's debootstrap knows trixie; sid's script serves every suite should it not.
  local s=/usr/share/debootstrap/scripts/$SUITE
  [ -e "$s" ] || s=/usr/share/debootstrap/scripts/sid
  rm -rf --one-file-system "$CHROOT"; mkdir -p "$CHROOT"
  debootstrap --variant=minbase --include=ca-certificates,openssl "$SUITE" "$CHROOT" "$(mirror)" "$s"
  touch "$CHROOT/.bootstrapped"
}

install7() {
  have7 && return 0
  bootstrap
  printf 'deb %s %s main\n' "$(mirror)" "$SUITE" >"$CHROOT/etc/apt/sources.list"
  cp -L /etc/resolv.conf "$CHROOT/etc/resolv.conf" 2>/dev/null || true
  local f
  for f in /etc/apt/apt.conf.d/*proxy* /etc/apt/apt.conf.d/*artifact*; do [ ! -f "$f" ] || cp "$f" "$CHROOT/etc/apt/apt.conf.d/"; done
  # arc-arex's postinst makes a certificate for "hostname -f" and fails when that does not resolve
  printf '127.0.0.1 localhost\n127.0.0.1 %s\n' "$(hostname)" >"$CHROOT/etc/hosts"
  hold "$CHROOT"
  echo 'slapd slapd/no_configuration boolean true' | jailed debconf-set-selections
  jailed DEBIAN_FRONTEND=noninteractive $APT update
  # shellcheck disable=SC2086
  jailed DEBIAN_FRONTEND=noninteractive $APT install -y --no-install-recommends $COMMON
  touch "$CHROOT/.complete"
}

mount_proc() { mountpoint -q "$CHROOT/proc" || mount -t proc proc "$CHROOT/proc"; }

[ "$(id -u)" = 0 ] || { say "must run as root"; exit 1; }
install6 >"$STATE/install6.log" 2>&1 || { tail -20 "$STATE/install6.log"; say "ARC 6.17 could not be installed"; exit 1; }
if [ "${GRID_TESTBED_ARC7:-yes}" = no ]; then say "ARC 7 left out as asked"; exit 0; fi
# a shell of its own, so that set -e holds in there
( set -e; bootstrap; mount_proc; trap 'umount "$CHROOT/proc" 2>/dev/null' EXIT; install7 ) >"$STATE/install7.log" 2>&1 &
if wait $!; then exit 0; fi
tail -5 "$STATE/install7.log"
say "no Debian 13 chroot here (see $STATE/install7.log): going on with the three ARC 6.17 CEs"
