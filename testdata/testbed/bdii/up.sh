#!/usr/bin/env bash
# Starts a real BDII (Debian's package: slapd and its updater) on loopback,
# with an invented grid in GLUE 1.3 and GLUE 2.0. Idempotent; no init needed.
#
#   up.sh [--sites N] [--seed N] [--epoch N] [--data DIR]   the grid, or ready LDIF
#         [--load bdii|slapadd]   through the real updater, or in bulk (benchmarks)
#         [--conf top|site]       as a top BDII (o=grid is a relay) or a site's
#         [--name NAME] [--port PORT] [--breathe SECONDS]
#
# What a first run lacks it installs. Everything is kept in
# $GRID_TESTBED_DIR/NAME; down.sh stops exactly what this started.
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
options "$@"

install_packages() {
  command -v slapd >/dev/null && [ -e /usr/sbin/bdii-update ] && command -v ldapsearch >/dev/null && return
  local policy=/usr/sbin/policy-rc.d made=
  # Without an init the packages must not try to start their services.
  [ -e $policy ] || { printf '#!/bin/sh\nexit 101\n' >$policy && chmod 755 $policy && made=1; }
  export DEBIAN_FRONTEND=noninteractive
  apt-get -o DPkg::Lock::Timeout=600 update -qq
  apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends bdii glue-schema slapd ldap-utils >/dev/null
  [ -z "$made" ] || rm -f $policy
}

# The package's configuration, with our directories, a password that is not
# the template's word "secret", and a database that may grow beyond 10 MB.
configure() {
  local template=/usr/share/bdii/bdii-slapd.conf password
  [ "$CONF" = site ] || template=/usr/share/bdii/bdii-top-slapd.conf
  password=$(head -c 24 /dev/urandom | base64 | tr -d '/+=')
  sed -e "s#/var/lib/bdii/db#$STATE/db#; s#/run/bdii/db#$STATE/run/db#" \
    -e "s#^\(rootpw *\)secret#\1$password#" -e "s#^directory .*#&\nmaxsize $((8 << 30))#" \
    "$template" >"$STATE/slapd.conf"
  sed -e "s#^BDII_LOG_FILE=.*#BDII_LOG_FILE=$STATE/update.log#; s#^BDII_PID_FILE=.*#BDII_PID_FILE=$STATE/run/bdii-update.pid#" \
    -e "s#/var/lib/bdii#$STATE#; s#^BDII_PORT=.*#BDII_PORT=$PORT#; s#^BDII_BREATHE_TIME=.*#BDII_BREATHE_TIME=$BREATHE#" \
    -e "s#^BDII_LOG_LEVEL=.*#BDII_LOG_LEVEL=INFO#" /etc/bdii/bdii.conf >"$STATE/bdii.conf"
  printf 'BDII_RUN_DIR=%s\nBDII_HOSTNAME=127.0.0.1\n' "$STATE/run" >>"$STATE/bdii.conf"
  # The roots of the trees; a site's server has no o=shadow.
  awk -v RS= -v ORS='\n\n' -v conf="$CONF" 'conf == "top" || !/o=shadow/' \
    /usr/share/bdii/default.ldif >"$STATE/gip/ldif/default.ldif"
}

# roots SUFFIX: the root entries of one tree, as its database stores them.
roots() {
  sed 's/^\(dn: .*\)/\1/; /^dn: /s/, */,/g' "$STATE/gip/ldif/default.ldif" |
    awk -v RS= -v ORS='\n\n' -v tree="$1" '
      { dn = $0; sub(/\n.*/, "", dn); glue = dn ~ /o=glue$/ }
      tree == "o=glue" && glue || tree != "o=glue" && !glue' | massage "$1"
}

# massage SUFFIX: below o=shadow the stored names end in it.
massage() {
  if [ "$1" = o=shadow ]; then sed '/^dn: /{/o=shadow$/!s/$/,o=shadow/}'; else cat; fi
}

load_in_bulk() {
  local suffix=o=grid
  [ "$CONF" = site ] || suffix=o=shadow
  { roots $suffix; massage $suffix <"$DATA/glue1.ldif"; } | slapadd -q -f "$STATE/slapd.conf" -b $suffix
  { roots o=glue; cat "$DATA/glue2.ldif"; } | slapadd -q -f "$STATE/slapd.conf" -b o=glue
}

# The updater calls the LDAP tools with -h and -p, which OpenLDAP 2.5 dropped.
make_shims() {
  local tool
  mkdir -p "$STATE/shims"
  for tool in ldapadd ldapmodify ldapdelete ldapsearch; do
    cat >"$STATE/shims/$tool" <<SHIM
#!/bin/bash
host= port=389 rest=()
while [ \$# -gt 0 ]; do
  case \$1 in
  -h) host=\${2%%:*}; case \$2 in *:*) port=\${2##*:} ;; esac; shift 2 ;;
  -p) port=\$2; shift 2 ;;
  *) rest+=("\$1"); shift ;;
  esac
done
exec /usr/bin/$tool \${host:+-H "ldap://\$host:\$port"} "\${rest[@]}"
SHIM
  done
  chmod -R 755 "$STATE/shims"
}

start_slapd() {
  slapd -f "$STATE/slapd.conf" -h "ldap://127.0.0.1:$PORT" -u $RUNAS -g $RUNAS
  for _ in $(seq 100); do
    ldapsearch -x -LLL -H "ldap://127.0.0.1:$PORT" -s base -b '' namingContexts >/dev/null 2>&1 && return
    sleep 0.1
  done
  echo "testbed/bdii: slapd does not answer" >&2
  exit 1
}

start_updater() {
  make_shims
  cp "$DATA/glue1.ldif" "$STATE/gip/ldif/10-glue1.ldif"
  cp "$DATA/glue2.ldif" "$STATE/gip/ldif/20-glue2.ldif"
  chown -R $RUNAS: "$STATE/gip"
  (cd / && runuser -u $RUNAS -- env PATH="$STATE/shims:$PATH" SLAPD_CONF="$STATE/slapd.conf" \
    /usr/sbin/bdii-update -c "$STATE/bdii.conf" -d)
  for _ in $(seq 1200); do
    grep -aq 'Sleeping for' "$STATE/update.log" 2>/dev/null && return
    sleep 0.5
  done
  echo "testbed/bdii: the updater did not come to the end of a cycle" >&2
  exit 1
}

# The updater reports no failure when adds fail: count.
check() {
  local schema base
  for schema in glue1:o=grid glue2:o=glue; do
    base=${schema#*:}
    counted "$schema" "$(grep -c '^dn:' "$DATA/${schema%:*}.ldif")" \
      "$(ldapsearch -x -LLL -o ldif-wrap=no -H "ldap://127.0.0.1:$PORT" -b "$base" 1.1 | grep -c -- '^dn: .*-SITE-')"
  done
}

counted() { # WHAT WANT HAVE
  [ "$3" -ge "$2" ] || { echo "testbed/bdii: $3 of $2 entries of $1 were loaded" >&2; exit 1; }
}

install_packages
stop_all
ulimit -n 4096 # both programs size tables, or loop, over the limit
rm -rf "$STATE"
mkdir -p "$STATE"/db/{grid,glue,stats} "$STATE"/gip/{ldif,provider,plugin} "$STATE"/{archive,run/db}
chmod 755 "${STATE%/*}" "$STATE"
if [ -z "$DATA" ]; then
  DATA=$STATE/data
  (cd "$HERE" && go run ./gen -sites "$SITES" -seed "$SEED" -epoch "$EPOCH" -out "$DATA")
fi
configure
[ "$LOAD" = bdii ] || load_in_bulk
chown -R $RUNAS: "$STATE"
runuser -u $RUNAS -- test -x "$STATE" || { echo "testbed/bdii: user $RUNAS cannot enter $STATE" >&2; exit 1; }
start_slapd
[ "$LOAD" = slapadd ] || start_updater
[ -n "${DATA##"$STATE"*}" ] || check
cat >"$STATE/env" <<ENV
GRID_BDII=ldap://127.0.0.1:$PORT
GRID_BDII_MANIFEST=$DATA/manifest.json
GRID_BDII_LOAD=$LOAD
GRID_BDII_CONF=$CONF
ENV
echo "testbed/bdii: ldap://127.0.0.1:$PORT (o=grid, o=glue), $SITES sites, as a $CONF BDII"
