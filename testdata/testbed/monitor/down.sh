#!/bin/bash
# down.sh - stop what up.sh started, by pid files that are checked against the
# process's command line or environment. --count only counts what runs.
st=${GRID_TESTBED_DIR:-/tmp/grid-testbed}/monitor
ours() { [ -d "/proc/$1" ] && { tr '\0' ' ' <"/proc/$1/cmdline"; tr '\0' ' ' <"/proc/$1/environ"; } 2>/dev/null | grep -qF -- "$st/"; }
. "$(dirname "${BASH_SOURCE[0]}")/../left.sh"
[ "${1:-}" = --count ] || rm -f "$st/env" # half stopped they are not up
running=0
for name in nagios gmetad gmond prometheus; do
  f=$st/run/$name.pid
  [ -s "$f" ] || continue
  p=$(tr -d '[:space:]' <"$f")
  ours "$p" || continue
  running=$((running + 1))
  [ "${1:-}" != --count ] || continue
  kill "$p" 2>/dev/null
  for _ in $(seq 50); do [ -d "/proc/$p" ] || break; sleep .1; done
  if ours "$p"; then kill -9 "$p" 2>/dev/null; fi
  rm -f "$f"
  echo "stopped $name ($p)"
done
if [ "${1:-}" = --count ]; then echo "$running"; else left nagios4 gmond gmetad prometheus; fi
exit 0
