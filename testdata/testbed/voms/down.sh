#!/bin/bash
# Stops what up.sh started, by process id, each checked to be ours; --purge removes the state too.
. "$(dirname "$0")/common.sh"
. "$HERE/../left.sh"
rm -f "$STATE/env" # half stopped it is not up
for f in socat.pid voms.pid db/pid; do
  p=$(pid_in "$STATE/$f") || continue
  if [ -n "$p" ] && ours "$p"; then
    # unshare does not heed TERM while it waits; KILL takes its whole process namespace along
    case $f in voms.pid) kill -KILL "$p" ;; *) kill "$p" ;; esac
    for t in $(seq 1 50); do [ -d "/proc/$p" ] || break; sleep 0.1; done
  fi
  rm -f "$STATE/$f"
done
left socat unshare mariadb-install mariadbd # of who was interrupted
rm -f "$STATE/inside"
[ "$1" != --purge ] || rm -rf "$STATE"
