#!/usr/bin/env bash
# Starts a PostgreSQL of Debian's packages on loopback, in a directory of its
# own, for the tests of the scheduler. Writes $GRID_TESTBED_DIR/postgres/url.
set -euo pipefail
base=${GRID_TESTBED_DIR:-/tmp/grid-testbed}/postgres
port=${GRID_TESTBED_POSTGRES_PORT:-56432}
if ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then
	DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends postgresql
fi
bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
as() { runuser -u postgres -- "$@"; }
mkdir -p "$base"
chown postgres "$base"
# made sees to it that the data are whole, or not there.
made() {
	[ ! -d "$base/data" ] || return 0
	rm -rf "$base/new"
	as "$bin/initdb" -D "$base/new" -A trust -E UTF8 --locale=C >/dev/null
	mv "$base/new" "$base/data"
}
made
as "$bin/pg_ctl" -D "$base/data" status >/dev/null || as "$bin/pg_ctl" -D "$base/data" -w -l "$base/log" \
	-o "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories=$base" start
printf 'postgres://postgres@127.0.0.1:%s/postgres?sslmode=disable\n' "$port" >"$base/url"
chmod 644 "$base/url"
