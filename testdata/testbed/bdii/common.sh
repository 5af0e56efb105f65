# Sourced by the other scripts; no side effects. State: $GRID_TESTBED_DIR/NAME.
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$HERE/../left.sh"
NAME=bdii SITES=10 SEED=1 EPOCH=0 DATA='' LOAD=bdii CONF=top BREATHE=30
PORT=${GRID_TESTBED_BDII_PORT:-24170}   # below the ephemeral range
RUNAS=openldap                          # user of slapd and of the updater

usage() { sed -n '2,/^set /p' "$0" | sed '/^set /d; s/^# \{0,1\}//'; exit 2; }

options() {
  while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || usage
    case $1 in
    --name) NAME=$2 ;; --sites) SITES=$2 ;; --seed) SEED=$2 ;; --epoch) EPOCH=$2 ;; --data) DATA=$2 ;;
    --load) LOAD=$2 ;; --conf) CONF=$2 ;; --port) PORT=$2 ;; --breathe) BREATHE=$2 ;;
    *) usage ;;
    esac
    shift 2
  done
  case $LOAD/$CONF in bdii/top | bdii/site | slapadd/top | slapadd/site) ;; *) usage ;; esac
  STATE=${GRID_TESTBED_DIR:-/tmp/grid-testbed}/$NAME
}

# stop PIDFILE WORD: ends the process of a pid file if its command line has
# the word in it, which is a path below our state.
stop() {
  local pid
  [ -s "$1" ] || return 0
  pid=$(tr -dc 0-9 <"$1")
  if [ -n "$pid" ] && tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -qF -- "$2"; then
    kill "$pid" 2>/dev/null || true
    for _ in $(seq 100); do
      [ -d "/proc/$pid" ] || break
      sleep 0.1
    done
    [ -d "/proc/$pid" ] && kill -9 "$pid" 2>/dev/null
    echo "testbed/bdii: stopped $pid ($(basename "$1"))"
  fi
  rm -f "$1"
}

ours() { tr '\0' ' ' <"/proc/$1/cmdline" 2>/dev/null | grep -qF -- "$STATE/"; }

stop_all() {
  rm -f "$STATE/env" # half stopped it is not up
  stop "$STATE/run/bdii-update.pid" "$STATE/bdii.conf"
  stop "$STATE/run/db/slapd.pid" "$STATE/slapd.conf"
  left bdii-update slapd # of who was interrupted
}
