# Sourced by up.sh and down.sh; no side effects. State: $GRID_TESTBED_DIR/voms.
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
STATE=${GRID_TESTBED_DIR:-/tmp/grid-testbed}/voms
VO=${GRID_TESTBED_VO:-testers.example.org}
PORT=${GRID_TESTBED_VOMS_PORT:-24490} # below the ephemeral range
HOST=localhost                        # what its certificate says
DB=voms_testers
BASE=/DC=org/DC=example

say() { echo "testbed/voms: $*"; }
# Is the process ours: its command line names our state folder.
ours() { [ -d "/proc/$1" ] && tr '\0' ' ' <"/proc/$1/cmdline" 2>/dev/null | grep -qF -- "$STATE/"; }
pid_in() { [ -s "$1" ] && head -1 "$1" | tr -dc 0-9; }
alive() { local p; p=$(pid_in "$1") && [ -n "$p" ] && ours "$p"; }
sql() { mariadb --no-defaults -S "$STATE/db/sock" -u root "$@"; }
