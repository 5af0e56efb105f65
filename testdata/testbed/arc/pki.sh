# Sourced by up.sh: test CA, host certificates, users and their proxies, all with the openssl command (proxies: arcproxy).
PKI=$STATE/ce
CADIR=$PKI/certificates
CACERT=$CADIR/testca.pem
SUBJECT=/DC=test/DC=grid
# Each testbed's CA has a name of its own: the directory of trust_issuer is that of all testbeds of a machine.
CANAME="Grid Testbed CA $(printf %s "$STATE" | cksum | cut -d' ' -f1)"

make_ca() {
  mkdir -p "$CADIR" "$PKI/host" "$PKI/user"
  [ -f "$CACERT" ] && return 0
  (umask 77; openssl genrsa -out "$CADIR/testca.key" 2048 2>/dev/null)
  openssl req -new -key "$CADIR/testca.key" -subj "$SUBJECT/CN=$CANAME" -out "$CACERT.csr"
  certify "$CACERT" 'basicConstraints=critical,CA:TRUE
keyUsage=critical,keyCertSign,cRLSign' -selfsign
  local hash
  for hash in $(openssl x509 -in "$CACERT" -noout -subject_hash) $(openssl x509 -in "$CACERT" -noout -subject_hash_old); do
    ln -sf testca.pem "$CADIR/$hash.0"
    printf "access_id_CA X509 '%s/CN=%s'\npos_rights globus CA:sign\ncond_subjects globus '\"%s/*\"'\n" \
      "$SUBJECT" "$CANAME" "$SUBJECT" >"$CADIR/$hash.signing_policy"
  done
}

# Makes the certificate of the request beside it. All have been good for a month: tests set clocks back,
# and of all commands of openssl 3.0 "ca" alone can say since when.
certify() { # certificate extensions [options of openssl ca]
  local dir; dir=$(mktemp -d)
  printf 'subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n%s\n' "$2" >"$dir/ext"
  : >"$dir/index"; openssl rand -hex 8 >"$dir/serial"
  printf '[ca]\ndefault_ca=testbed\n[testbed]\ndatabase=%s\nserial=%s\nnew_certs_dir=%s\ndefault_md=sha256\npreserve=yes\npolicy=any\n[any]\nDC=optional\nCN=supplied\n' \
    "$dir/index" "$dir/serial" "$dir" >"$dir/ca.cnf"
  openssl ca -batch -notext -config "$dir/ca.cnf" -cert "$CACERT" -keyfile "$CADIR/testca.key" -in "$1.csr" -extfile "$dir/ext" \
    -startdate "$(date -u -d '30 days ago' +%Y%m%d%H%M%SZ)" -days 3650 -out "$1.new" "${@:3}" 2>"$dir/said" || { cat "$dir/said" >&2; return 1; }
  rm -rf "$dir" "$1.csr"; mv "$1.new" "$1"
}

sign() { # common-name extensions certificate key
  [ -f "$3" ] && return 0
  openssl req -new -newkey rsa:2048 -nodes -keyout "$4" -subj "$SUBJECT/CN=$1" -out "$3.csr" 2>/dev/null
  chmod 600 "$4"
  certify "$3" "basicConstraints=CA:FALSE
keyUsage=digitalSignature,keyEncipherment
$2"
}

make_hosts() {
  local n
  for n in $CES6 $CES7 $CE_SLURM $CE_BREAK issuer; do
    sign "$n.$DOM" "extendedKeyUsage=serverAuth,clientAuth
subjectAltName=DNS:$n.$DOM,DNS:localhost,IP:127.0.0.1" "$PKI/host/$n.pem" "$PKI/host/$n.key"
  done
}

# alice and bob are let in; mallory has a good certificate and is let in nowhere.
make_users() {
  local u d
  for u in "alice:Alice Tester" "bob:Bob Tester" "mallory:Mallory Stranger"; do
    d=$PKI/user/${u%%:*}; mkdir -p "$d"
    sign "${u#*:}" "" "$d/usercert.pem" "$d/userkey.pem"
    openssl x509 -checkend 43200 -noout -in "$d/proxy.pem" >/dev/null 2>&1 ||
      X509_CERT_DIR=$CADIR arcproxy -C "$d/usercert.pem" -K "$d/userkey.pem" -P "$d/proxy.pem" \
        -c validityPeriod=30d -c keybits=2048 >"$STATE/arcproxy.log" 2>&1
  done
}

# A-REX checks a token issuer's certificate against the default directory, whatever x509_cert_dir says.
trust_issuer() { # root
  local f
  mkdir -p "$1/etc/grid-security/certificates"
  for f in "$CADIR"/*.0 "$CADIR"/*.signing_policy; do cp -Lf "$f" "$1/etc/grid-security/certificates/"; done
}

# What the CEs in the chroot need of it.
copy_to_jail() {
  mkdir -p "$CHROOT$JAIL"
  cp -a "$CADIR" "$PKI/host" "$PKI/user" "$CHROOT$JAIL/"
  rm -f "$CHROOT$JAIL/certificates/testca.key"
}
