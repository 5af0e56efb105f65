#!/bin/bash
# Starts Debian's real VOMS server with a VO of two members on a private MariaDB. Idempotent: what is up stays up.
# Writes $GRID_TESTBED_DIR/voms/env (KEY=VALUE) and prints it. Needs root.
# The server listens on all addresses and has no option for that: it gets a network of its own, in which there is only
# loopback, and socat carries connections from 127.0.0.1 to it.
set -e
. "$(dirname "$0")/common.sh"
. "$HERE/pki.sh"
mkdir -p "$STATE"; chmod 755 "$STATE" "$(dirname "$STATE")"
exec 9>"$STATE/lock"; flock -w 300 9

install() {
  local need=
  command -v voms >/dev/null && [ -e /usr/lib/voms/libvomsmysql.so ] || need="voms-server voms-mysql-plugin"
  command -v voms-proxy-init2 >/dev/null || need="$need voms-clients"
  command -v mariadbd >/dev/null || need="$need mariadb-server"
  command -v socat >/dev/null || need="$need socat"
  command -v oidc-agent >/dev/null || need="$need oidc-agent-cli" # the tests of tokens start it
  command -v ip >/dev/null || need="$need iproute2"
  [ -z "$need" ] || DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends $need openssl >/dev/null
}

start_db() {
  alive "$STATE/db/pid" && return 0
  if [ ! -d "$STATE/db/data" ]; then
    rm -rf "$STATE/db"; mkdir -p "$STATE/db"; chown mysql "$STATE/db"
    mariadb-install-db --no-defaults --user=mysql --datadir="$STATE/db/new" --auth-root-authentication-method=normal --skip-test-db >"$STATE/db.log" 2>&1
    mv "$STATE/db/new" "$STATE/db/data" # whole, or not there
  fi
  setsid mariadbd --no-defaults --user=mysql --datadir="$STATE/db/data" --socket="$STATE/db/sock" --pid-file="$STATE/db/pid" \
    --skip-networking --innodb-buffer-pool-size=16M >>"$STATE/db.log" 2>&1 </dev/null 9>&- &
  local t; for t in $(seq 1 100); do sql -e 'select 1' >/dev/null 2>&1 && return 0; sleep 0.2; done
  say "the database does not start"; tail -n 5 "$STATE/db.log"; return 1
}

# The VO: alice is a member of the groups students and admins/secret and may be production; bob is a plain member.
fill_db() {
  [ ! -e "$STATE/db/filled" ] || return 0
  sql -e "drop database if exists $DB; drop user if exists voms@localhost; create database $DB; create user voms@localhost identified by 'testbed'; grant select, lock tables, update, insert, delete on $DB.* to voms@localhost"
  sql "$DB" </usr/share/voms/voms-mysql.data
  sql "$DB" <<S
insert into ca values (1, '$BASE/CN=Example VOMS Testbed CA', 'the CA');
insert into admins values (1, '/O=VOMS/CN=Administrator', '', 1);
insert into \`groups\` values (1, '/$VO', 1, 1), (2, '/$VO/students', 1, 1), (3, '/$VO/admins', 1, 1);
insert into roles values (1, 'production'), (2, 'pilot');
insert into usr (userid, dn, ca, cn) values (1, '$BASE/CN=Alice Tester', 1, 'Alice'), (2, '$BASE/CN=Bob Tester', 1, 'Bob'), (3, '$BASE/CN=Rita Revoked', 1, 'Rita');
insert into m (userid, gid, rid) values (1, 1, null), (1, 2, null), (1, 1, 1), (1, 2, 2), (2, 1, null), (3, 1, null);
insert into seqnumber values ('00');
insert into version values (2);
S
  touch "$STATE/db/filled"
}

start_voms() {
  alive "$STATE/voms.pid" && return 0
  echo testbed >"$STATE/pass"; chmod 640 "$STATE/pass"
  cat >"$STATE/voms.conf" <<C
--vo=$VO
--dbname=$DB
--username=voms
--contactstring=localhost
--mysql-socket=$STATE/db/sock
--passfile=$STATE/pass
--sqlloc=/usr/lib/voms/libvomsmysql.so
--port=$PORT
--uri=$HOST:$PORT
--logfile=$STATE/voms.log
--loglevel=4
--logtype=7
--x509_user_cert=$STATE/voms.pem
--x509_user_key=$STATE/voms.key
--x509_cert_dir=$CADIR
--newformat
--socktimeout=20
--timeout=86400
C
  rm -f "$STATE/inside"
  # the server goes into the background by itself: a process namespace of its own makes sure that all of it ends
  setsid unshare --net --pid --fork --kill-child bash -c '
    ip link set lo up
    X509_CERT_DIR=$1/certificates /usr/sbin/voms -conf "$1/voms.conf" -foreground
    exec socat UNIX-LISTEN:"$1/inside",fork TCP:127.0.0.1:"$2"
  ' voms "$STATE/" "$PORT" >"$STATE/voms.out" 2>&1 </dev/null 9>&- &
  echo $! >"$STATE/voms.pid"
  setsid socat TCP-LISTEN:"$PORT",bind=127.0.0.1,reuseaddr,fork UNIX-CONNECT:"$STATE/inside" >"$STATE/socat.log" 2>&1 </dev/null 9>&- &
  echo $! >"$STATE/socat.pid"
}

answers() {
  printf '<?xml version="1.0"?><voms><command>G/%s</command><base64>1</base64><lifetime>60</lifetime></voms>' "$VO" |
    timeout 5 openssl s_client -quiet -connect "$HOST:$PORT" -CAfile "$STATE/ca.pem" -cert "$STATE/bob.pem" -key "$STATE/bob.key" 2>/dev/null | grep -q "<ac>"
}

install
if ! { alive "$STATE/voms.pid" && alive "$STATE/socat.pid" && alive "$STATE/db/pid"; }; then # of who was interrupted, servers and half of the files may be left
  "$HERE/down.sh"
  # Certificates are made anew with all that their authorities remember, such as who is revoked, or not at all.
  [ -e "$STATE/pki" ] || rm -rf "$STATE"/{*.pem,*.key,ca.srl,ca.db,other.db,certificates,other-certificates,certified}
fi
make_pki; touch "$STATE/pki"
make_vomses; start_db; fill_db; start_voms
for t in $(seq 1 60); do answers && break; sleep 0.5; done
cat >"$STATE/env" <<X
GRID_VOMS_STATE=$STATE
GRID_VOMS_VO=$VO
GRID_VOMS_HOST=$HOST
GRID_VOMS_PORT=$PORT
X509_CERT_DIR=$CADIR
X509_VOMS_DIR=$STATE/vomsdir
X509_VOMSES=$STATE/vomses
X
answers || { rm -f "$STATE/env"; say "the server does not answer"; tail -n 5 "$STATE/voms.out"; tail -n 5 "$STATE/voms.log"; exit 1; }
cat "$STATE/env"
