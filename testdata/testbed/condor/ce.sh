#!/bin/bash
# ce.sh - an HTCondor-CE in front of the pool of up.sh, which calls it: what
# makes one is HTCondor's own (collector, schedd and job router in a master of
# their own; the package of the CE is its configuration). Who comes shows a
# SciToken of the WLCG profile for the audience ce.condor.test:17920, or for any.
# Jobs are routed to the pool's schedd. Idempotent; down.sh stops it.
# Ports, all on 127.0.0.1: 17920 (and 17921-17928).
set -euo pipefail
. "$(dirname "$0")/common.sh"
dir=/var/lib/condor-ce
master=$tree$dir/run/master.pid
if [ -s "$master" ] && [ "$(readlink "/proc/$(tr -dc 0-9 <"$master")/root")" = "$tree" ]; then exit 0; fi
grep -q " $ce_name\$" "$tree/etc/hosts" || echo "127.0.0.1 $ce_name" >>"$tree/etc/hosts"
rm -rf "${tree:?}$dir"
mkdir -p "$tree$dir"/{log,spool,execute,lock,run/cache,passwords.d,tokens.d,pki}
inroot chown -R condor:condor $dir
chmod 700 "$tree$dir/tokens.d" "$tree$dir/passwords.d"

# An authority, and the CE's certificate with its name. Users have the authority
# in a directory as grids' trust anchors are kept: by hash.
pki=$tree$dir/pki certs=$st/job/certificates
openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj '/DC=test/CN=Testbed CE CA' -keyout "$pki/ca.key" -out "$pki/ca.pem" \
  -addext basicConstraints=critical,CA:true -addext keyUsage=critical,keyCertSign,cRLSign 2>/dev/null
openssl req -newkey rsa:2048 -nodes -subj "/DC=test/CN=$ce_name" -keyout "$pki/host.key" -out "$pki/host.csr" 2>/dev/null
openssl x509 -req -in "$pki/host.csr" -CA "$pki/ca.pem" -CAkey "$pki/ca.key" -CAcreateserial -days 3650 -out "$pki/host.pem" 2>/dev/null \
  -extfile <(printf 'subjectAltName=DNS:%s\nkeyUsage=critical,digitalSignature,keyEncipherment\nextendedKeyUsage=serverAuth,clientAuth\n' "$ce_name")
chmod 600 "$pki"/*.key
mkdir -p "$certs"; cp "$pki/ca.pem" "$certs/$(openssl x509 -hash -noout -in "$pki/ca.pem").0"; chmod 755 "$certs"

cat >"$tree/etc/condor-ce.conf" <<C
$paths
$(daemons "$dir" "$ce_port")
NETWORK_HOSTNAME = $ce_name
DEFAULT_DOMAIN_NAME = condor.test
UID_DOMAIN = testbed
TRUST_DOMAIN = $ce_name
COLLECTOR_HOST = $ce_name:$ce_port
COLLECTOR_NAME = $ce_name
DAEMON_LIST = MASTER, COLLECTOR, SCHEDD, JOB_ROUTER
JOB_ROUTER = /usr/libexec/condor/condor_job_router
SCHEDD_NAME = $ce_name
MASTER_NAME = $ce_name
SEC_DEFAULT_AUTHENTICATION_METHODS = FS, SCITOKENS
SEC_CLIENT_AUTHENTICATION_METHODS = FS
SEC_SCITOKENS_CACHE = $dir/run/cache
SCITOKENS_SERVER_AUDIENCE = $ce_name:$ce_port
AUTH_SSL_SERVER_CERTFILE = $dir/pki/host.pem
AUTH_SSL_SERVER_KEYFILE = $dir/pki/host.key
CERTIFICATE_MAPFILE = /etc/condor-ce.map
UPDATE_INTERVAL = 15
QUEUE_SUPER_USERS = root, condor
QUEUE_SUPER_USER_MAY_IMPERSONATE = .*
JOB_ROUTER_SCHEDD1_SPOOL = $dir/spool
JOB_ROUTER_SCHEDD2_SPOOL = /var/lib/condor-pool/spool
JOB_ROUTER_SCHEDD2_NAME = schedd@testbed
JOB_ROUTER_SCHEDD2_POOL = 127.0.0.1:$port
JOB_ROUTER_POLLING_PERIOD = 2
JOB_ROUTER_ROUTE_NAMES = pool
JOB_ROUTER_DEFAULT_MAX_JOBS_PER_ROUTE = 1000
JOB_ROUTER_DEFAULT_MAX_IDLE_JOBS_PER_ROUTE = 1000
JOB_ROUTER_ROUTE_pool @=end
  REQUIREMENTS True
  UNIVERSE VANILLA
@end
C
echo "SCITOKENS $ce_issuer,alice $user@testbed" >"$tree/etc/condor-ce.map"
# Its keys lie where libSciTokens keeps what it has fetched from an issuer.
(cd "$here/../arc/issuer" && go build -o "$st/ce-issuer" .)
mkdir -p "$st/issuer"
"$st/ce-issuer" keys "$st/issuer" "$ce_issuer" >"$tree$dir/run/keys.json"
inroot setpriv --reuid condor --regid condor --clear-groups python3 - <<C
import ctypes
lib, err = ctypes.CDLL("libSciTokens.so.0"), ctypes.c_char_p()
def call(name, *words):
    if getattr(lib, name)(*words, ctypes.byref(err)):
        raise SystemExit(name + ": " + (err.value or b"").decode())
call("scitoken_config_set_str", b"keycache.cache_home", b"$dir/run/cache")
for interval in b"keycache.update_interval_s", b"keycache.expiration_interval_s": # never asks the issuer again
    call("scitoken_config_set_int", interval, 100000000)
call("keycache_set_jwks", b"$ce_issuer", open("$dir/run/keys.json", "rb").read())
C
# What a client elsewhere has: nothing but its tools.
printf '%s\nLOG = /tmp\nSPOOL = /tmp\nSEC_CLIENT_AUTHENTICATION_METHODS = IDTOKENS, SCITOKENS\n' "$paths" >"$tree/etc/condor-ce-client.conf"
inroot env CONDOR_CONFIG=/etc/condor-ce.conf bash -c "ulimit -n 8192; exec condor_master -pidfile $dir/run/master.pid"
for _ in $(seq 150); do
  [ -z "$(inroot env CONDOR_CONFIG=/etc/condor-ce.conf condor_status -schedd -af Name 2>/dev/null)" ] || exit 0
  sleep .2
done
echo "the CE did not come up:" >&2; tail -5 "$tree$dir/log/MasterLog" >&2
exit 1
