#!/bin/bash
# Starts real ARC computing elements on loopback: three of 6.17 (REST 1.0) and two of 7.0 (REST 1.1), each a web
# service, a grid manager and an LDAP server, with a fork back-end, a test CA and a token issuer.
# Idempotent: what is up stays up. Writes $GRID_TESTBED_DIR/arc/env (KEY=VALUE) and prints it.
#   up.sh [CE...]              all, or only the named (arex1 ... arex5; slurmce/up.sh names arex6, the tests that break one arex7)
#   GRID_TESTBED_DIR           state, default /tmp/grid-testbed
#   GRID_TESTBED_ARC_PORT      first port, default 24400
#   GRID_TESTBED_ARC_INFO      seconds between infoprovider runs, default 30 (stock 60; with 15 six CEs take a fifth of two
#                              processors): LDAP knows of a CE, and of a tag, after some four of them
#   GRID_TESTBED_ARC_SCAN      seconds between looks at fork jobs, default 1 (stock 10)
#   GRID_TESTBED_ARC7=no       leave ARC 7 out; GRID_TESTBED_ARC7_SUITE: trixie (7.0), sid (newer)
set -e
. "$(dirname "$0")/common.sh"
. "$HERE/conf.sh"
. "$HERE/pki.sh"
INFO=$((${GRID_TESTBED_ARC_INFO:-30} * 10)) # the option counts tenths
SCAN=${GRID_TESTBED_ARC_SCAN:-1}

mkdir -p "$STATE/ce"; chmod 755 "${GRID_TESTBED_DIR:-/tmp/grid-testbed}" "$STATE" "$STATE/ce"
exec 9>"$STATE/lock"; flock -w 900 9
"$HERE/install.sh" 9>&-

CES=$CES6
if have7 && [ "${GRID_TESTBED_ARC7:-yes}" != no ]; then
  mountpoint -q "$CHROOT/proc" || { mount -t proc proc "$CHROOT/proc" && : >"$CHROOT/.proc-mounted"; } 2>/dev/null ||
    say "no /proc in the chroot"
  CES="$CES6 $CES7"
fi
START=${*:-$CES}

user_and_names() {
  local n
  id "$GRIDUSER" >/dev/null 2>&1 || useradd --system --no-create-home --shell /bin/bash "$GRIDUSER"
  ! have7 || jailed id "$GRIDUSER" >/dev/null 2>&1 ||
    jailed useradd --system --uid 960 --no-create-home --shell /bin/bash "$GRIDUSER"
  for n in $CES6 $CES7 $CE_SLURM $CE_BREAK issuer; do
    grep -q "[[:space:]]$n\.$DOM\b" /etc/hosts || echo "127.0.0.1 $n.$DOM $MARK" >>/etc/hosts
  done
  ! have7 || { echo "127.0.0.1 localhost $(hostname)"; grep -F "$MARK" /etc/hosts; } >"$CHROOT/etc/hosts"
}

# A tree of links over an installed ARC in which single scripts are replaced, so that the packages stay untouched.
arc_root() { # CE-of-that-version
  local root to in f
  root=$(root_of "$1") to=$(outside "$1")/arcroot in=$(inside "$1")/arcroot
  [ ! -L "$to/lib" ] || rm "$to/lib"
  mkdir -p "$to/share/arc" "$to/lib/arc"
  for f in sbin bin libexec; do [ ! -e "$root/usr/$f" ] || ln -sfn "/usr/$f" "$to/$f"; done
  for f in "$root"/usr/lib/* "$root"/usr/lib/arc/*; do
    f=${f#"$root"/usr/}; [ "$f" = lib/arc ] || ln -sfn "/usr/$f" "$to/$f"
  done
  rm -f "$to/lib/arc/arcconfig-parser"; cp "$HERE/config-parser.sh" "$to/lib/arc/arcconfig-parser"
  for f in "$root"/usr/share/arc/*; do ln -sfn "/usr/share/arc/${f##*/}" "$to/share/arc/${f##*/}"; done
  # the Perl scripts look for their modules beside their real file: these must be copies
  rm -f "$to"/share/arc/*.pm "$to"/share/arc/*.pl "$to/share/arc/scan-fork-job"
  cp "$root"/usr/share/arc/*.pm "$root"/usr/share/arc/*.pl "$to/share/arc/"
  mv "$to/share/arc/CEinfo.pl" "$to/share/arc/CEinfo-real.pl"; cp "$HERE/ce-info.sh" "$to/share/arc/CEinfo.pl"
  # the fork back-end publishes the host's cores and one running job whatever arc.conf says
  for f in FORKmod.pm Fork.pm; do
    sed -i -e 's/= \$cputhreadcount;/= $ENV{TESTBED_SLOTS} || $cputhreadcount;/' \
      -e 's/{totalcpus} = \$cputhreads;/{totalcpus} = $ENV{TESTBED_SLOTS} || $cputhreads;/' \
      -e 's/^\( *\)\$job_limit = 1;/\1$job_limit = $ENV{TESTBED_SLOTS} || 1;/' "$to/share/arc/$f"
  done
  sed "s/^sleep 10$/sleep $SCAN/" "$root/usr/share/arc/scan-fork-job" >"$to/share/arc/scan-fork-job"
  # there is no option for the listener's address, nor for the infoproviders' period
  sed 's#<tcp:Listen><tcp:Port>#<tcp:Listen><tcp:Interface>127.0.0.1</tcp:Interface><tcp:Port>#' \
    "$root/usr/share/arc/arc-arex-ws-start" >"$to/ws-start"
  sed 's#<arex:gmconfig>$ARC_RUNTIME_CONFIG</arex:gmconfig>#&<arex:InfoproviderWakeupPeriod>'"$INFO"'</arex:InfoproviderWakeupPeriod>#' \
    "$root/usr/share/arc/arc-arex-start" >"$to/start"
  # bdii 6.0.0 calls the LDAP clients with -h and -p, which OpenLDAP 2.5 no longer knows
  is7 "$1" || sed -e 's#-h %s -p %s#-H ldap://%s:%s#' -e 's#-x -h %s -b#-x -H ldap://%s -b#' /usr/sbin/bdii-update >"$STATE/ce/bdii-update"
  chmod 755 "$to/ws-start" "$to/start" "$to/share/arc/scan-fork-job"; is7 "$1" || chmod 755 "$STATE/ce/bdii-update"
}

# A CE makes a dozen files for every job. On ext4 that is slow for minutes after many were removed (it passes over inodes
# freed a short while ago, one by one), so that one test would slow down the next: a RAM disk has no such memory.
in_ram() { # directory of a 6.17 CE
  local part
  [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ] && [ "$(df --output=avail -k /dev/shm | tail -1)" -gt 1000000 ] || [ -L "$1/control" ] || return 0
  for part in control session; do
    [ -e "$1/$part" ] || [ -L "$1/$part" ] || ln -s "$RAM/${1##*/}/$part" "$1/$part"
    [ ! -L "$1/$part" ] || mkdir -p "$(readlink "$1/$part")"
  done
}

make_dirs() { # CE
  local d r; d=$(outside "$1")/$1
  mkdir -p "$d"
  is7 "$1" || in_ram "$d"
  mkdir -p "$d"/{control,session,log,run/{arex,arex-ws}.cfg.said,tmp,runtime,ldap/{run,bdiirun,var,log,tmp}}
  chmod 1777 "$d/tmp" "$d"/run/*.said; chmod 755 "$d/session"
  # without this file the start script burns minutes on a 4096-bit one
  [ -f "$d/control/dhparam.pem" ] ||
    (umask 177; openssl genpkey -genparam -algorithm DH -pkeyopt group:ffdhe2048 -out "$d/control/dhparam.pem" 2>/dev/null)
  for r in ${RTES[$1]}; do
    mkdir -p "$d/runtime/$(dirname "$r")"
    printf '# description: testbed runtime environment\n[ "$1" != 1 ] || export TESTBED_RTE="${TESTBED_RTE:+$TESTBED_RTE }%s"\ntrue\n' "$r" >"$d/runtime/$r"
    chmod 755 "$d/runtime/$r"
  done
  arc_conf "$1" >"$d/arc.conf"
}

start_ldap() { # CE env...
  local ce=$1 d i; shift
  d=$(outside "$ce")/$ce i=$(inside "$ce")/$ce
  if ! alive "$d/ldap/bdiirun/db/slapd.pid"; then
    at "$ce" "$@" /usr/share/arc/create-slapd-config >"$d/log/create-slapd.log" 2>&1
    # 6.17 writes options of the hdb back-end
    is7 "$ce" || { sed -i -e 's/^[[:space:]]*cachesize.*$/maxsize 268435456/' \
      -e 's/^[[:space:]]*checkpoint[[:space:]].*$/checkpoint 1024 5/' "$d/ldap/run/bdii-slapd.conf"; rm -f "$d"/ldap/var/db/*/DB_CONFIG; }
    at "$ce" /usr/sbin/slapd -f "$i/ldap/run/bdii-slapd.conf" -h "ldap://127.0.0.1:$(ldap_port "$ce")" -u openldap -n "slapd-$ce" >"$d/log/slapd.log" 2>&1 9>&-
  fi
  if ! alive "$d/ldap/bdiirun/bdii-update.pid"; then
    rm -f "$d/ldap/bdiirun/bdii-update.pid"
    at "$ce" "$@" /usr/share/arc/create-bdii-config >"$d/log/create-bdii.log" 2>&1
    local cmd=/usr/sbin/bdii-update; is7 "$ce" || cmd=$STATE/ce/bdii-update
    at "$ce" runuser -s /bin/sh -c "$cmd -c $i/ldap/run/bdii.conf -d" openldap >"$d/log/bdii-update.log" 2>&1 </dev/null 9>&-
  fi
}

start_arex() { # CE env...
  local ce=$1 d; shift
  d=$(outside "$ce")/$ce
  alive "$d/run/arex-ws.pid" || at "$ce" "$@" "$(inside "$ce")/arcroot/ws-start" </dev/null >"$d/log/start-ws.log" 2>&1 9>&- || { cat "$d/log/start-ws.log"; return 1; }
  alive "$d/run/arex.pid" || at "$ce" "$@" "$(inside "$ce")/arcroot/start" </dev/null >"$d/log/start.log" 2>&1 9>&- || { cat "$d/log/start.log"; return 1; }
}

start_issuer() {
  local d=$STATE/issuer; mkdir -p "$d"
  (cd "$HERE/issuer" && go build -o "$d/issuer" .)
  [ -f "$d/token" ] && [ -z "$(find "$d/token" -mtime +20)" ] || (umask 77; "$d/issuer" token "$d" "$ISSUER/" alice 720h >"$d/token")
  alive "$d/pid" && return 0
  setsid "$d/issuer" serve "$d" "$ISSUER/" "$PKI/host/issuer.pem" "$PKI/host/issuer.key" >"$d/log" 2>&1 </dev/null 9>&- &
  echo $! >"$d/pid"
}

write_env() {
  local ce rest6= rest7= ldap=
  for ce in $CES; do
    if is7 "$ce"; then rest7="$rest7 https://$ce.$DOM:$(rest_port "$ce")/arex"; else rest6="$rest6 https://$ce.$DOM:$(rest_port "$ce")/arex"; fi
    ldap="$ldap ldap://$ce.$DOM:$(ldap_port "$ce")"
  done
  cat >"$STATE/env.new" <<X
X509_CERT_DIR=$CADIR
X509_USER_CERT=$PKI/user/alice/usercert.pem
X509_USER_KEY=$PKI/user/alice/userkey.pem
X509_USER_PROXY=$PKI/user/alice/proxy.pem
GRID_ARC_STATE=$STATE
GRID_ARC_REST10="${rest6# }"
GRID_ARC_REST11="${rest7# }"
GRID_ARC_LDAP="${ldap# }"
GRID_ARC_BREAK=https://$CE_BREAK.$DOM:$(rest_port $CE_BREAK)/arex
GRID_ARC_USERS=$PKI/user
GRID_ARC_CA_CERT=$CACERT
GRID_ARC_CA_KEY=$CADIR/testca.key
GRID_ARC_ISSUER=$ISSUER/
GRID_ARC_ISSUER_DIR=$STATE/issuer
GRID_ARC_TOKEN_FILE=$STATE/issuer/token
GRID_ARC_CHROOT=$(have7 && echo "$CHROOT")
X
  mv "$STATE/env.new" "$STATE/env"
}

answers() { # CE
  local s l
  s=$(curl -s -m 5 -o /dev/null -w '%{http_code}' --cacert "$CACERT" --cert "$PKI/user/alice/proxy.pem" \
    -H 'Accept: application/xml' "https://$1.$DOM:$(rest_port "$1")/arex/rest/1.0/info")
  l=$(ldapsearch -LLL -x -l 5 -H "ldap://127.0.0.1:$(ldap_port "$1")" -b o=glue '(objectClass=GLUE2ComputingShare)' dn 2>/dev/null | grep -c '^dn')
  [ "$s" = 200 ] && [ "$l" -gt 0 ]
}

user_and_names
make_ca; make_hosts; make_users; trust_issuer ""
arc_root arex1
if have7; then copy_to_jail; trust_issuer "$CHROOT"; arc_root arex4; fi
start_issuer
starters=
for ce in $START; do
  make_dirs "$ce"
  in=$(inside "$ce") d=$(outside "$ce")/$ce
  E=(ARC_CONFIG="$in/$ce/arc.conf" ARC_LOCATION="$in/arcroot" TESTBED_SLOTS="${SLOTS[$ce]}" TESTBED_LRMS="$(lrms_of "$ce")")
  for r in ENV/PROXY ${RTES[$ce]}; do
    [ -e "$d/control/rte/enabled/$r" ] || at "$ce" arcctl -c "$in/$ce/arc.conf" rte enable "$r" >>"$d/log/rte.log" 2>&1
  done
  start_ldap "$ce" "${E[@]}"
  # the slow part is ARC's check of its configuration: side by side
  start_arex "$ce" "${E[@]}" &
  starters="$starters $!"
done
for p in $starters; do wait "$p" || { say "a CE did not start"; exit 1; }; done
write_env

exec 9>&- # nothing changes any more: others may start theirs while these are waited for
for ce in $START; do
  for t in $(seq 1 120); do answers "$ce" && break; sleep 1; done
  answers "$ce" || { say "$ce does not answer; see $(outside "$ce")/$ce/log"; exit 1; }
done
cat "$STATE/env"
