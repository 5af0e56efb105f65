#!/bin/bash
# Stops what up.sh started, by pid file, each process checked to be ours.
#   down.sh [CE...]     all, or only the named CEs
#   down.sh --purge     also removes the state, the chroot, the names in /etc/hosts, the user and the test CA
. "$(dirname "$0")/common.sh"
purge=; [ "$1" != --purge ] || { purge=1; shift; }

stop() { # pidfile
  local p i; p=$(pid_in "$1"); [ -n "$p" ] || return 0
  if ours "$p"; then
    kill "$p" 2>/dev/null
    kill -CONT "$p" 2>/dev/null
    for i in $(seq 1 100); do [ -d "/proc/$p" ] || break; sleep 0.1; done
    [ ! -d "/proc/$p" ] || kill -9 "$p" 2>/dev/null
  fi
  rm -f "$1"
}
# Grid jobs and infoproviders that outlived their CE: ours, and started from a CE's folder.
leftovers() { # CE
  local p d; d=$(outside "$1")/$1
  for p in /proc/[0-9]*; do
    p=${p#/proc/}
    [ "$p" != $$ ] && [ "$p" != "$PPID" ] && ours "$p" || continue
    case "$(readlink "/proc/$p/cwd" 2>/dev/null) $(tr '\0' ' ' <"/proc/$p/cmdline" 2>/dev/null)" in
      *"$d"/* | *"$(inside "$1")/$1"/*) kill "$p" 2>/dev/null ;;
    esac
  done
}

# All are asked to end before any is waited for.
for ce in ${*:-$CES6 $CES7 $CE_BREAK}; do
  d=$(outside "$ce")/$ce
  for f in "$d"/run/arex.pid "$d"/run/arex-ws.pid "$d"/ldap/bdiirun/bdii-update.pid "$d"/ldap/bdiirun/db/slapd.pid; do
    ! alive "$f" || kill "$(pid_in "$f")" 2>/dev/null
  done
done
for ce in ${*:-$CES6 $CES7 $CE_BREAK}; do
  d=$(outside "$ce")/$ce
  [ -d "$d" ] || continue
  stop "$d/run/arex.pid"; stop "$d/run/arex-ws.pid"
  stop "$d/ldap/bdiirun/bdii-update.pid"; stop "$d/ldap/bdiirun/db/slapd.pid"
  leftovers "$ce"
  # Jobs of tests that were killed would wait there when the CE is started again.
  [ $# != 0 ] || rm -rf "$d"/control/* "$d"/session/*
done
[ $# = 0 ] || exit 0

stop "$STATE/issuer/pid"
rm -f "$STATE/env"
if [ -e "$CHROOT/.proc-mounted" ]; then
  umount "$CHROOT/proc" 2>/dev/null || { sleep 1; umount "$CHROOT/proc"; } && rm -f "$CHROOT/.proc-mounted"
fi
if [ -n "$purge" ]; then
  for f in "$STATE"/ce/certificates/*.0 "$STATE"/ce/certificates/*.signing_policy; do
    [ ! -e "$f" ] || rm -f "/etc/grid-security/certificates/${f##*/}"
  done
  kept=$(grep -vF "$MARK" /etc/hosts); printf '%s\n' "$kept" >/etc/hosts
  rm -rf --one-file-system "$STATE" "$RAM"
  ! id "$GRIDUSER" >/dev/null 2>&1 || userdel "$GRIDUSER"
fi
say down
