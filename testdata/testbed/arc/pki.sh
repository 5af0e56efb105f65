# Sourced by up.sh: test CA, host certificates, users and their proxies, all with the openssl command (proxies: arcproxy).
PKI=$STATE/ce
CADIR=$PKI/certificates
CACERT=$CADIR/testca.pem
SUBJECT=/DC=test/DC=grid

make_ca() {
  mkdir -p "$CADIR" "$PKI/host" "$PKI/user"
  [ -f "$CACERT" ] && return 0
  (umask 77; openssl genrsa -out "$CADIR/testca.key" 2048 2>/dev/null)
  openssl req -x509 -new -key "$CADIR/testca.key" -sha256 -days 3650 -subj "$SUBJECT/CN=Grid Testbed CA" \
    -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign -out "$CACERT.new"
  local hash
  for hash in $(openssl x509 -in "$CACERT.new" -noout -subject_hash) $(openssl x509 -in "$CACERT.new" -noout -subject_hash_old); do
    ln -sf testca.pem "$CADIR/$hash.0"
    printf "access_id_CA X509 '%s/CN=Grid Testbed CA'\npos_rights globus CA:sign\ncond_subjects globus '\"%s/*\"'\n" \
      "$SUBJECT" "$SUBJECT" >"$CADIR/$hash.signing_policy"
  done
  mv "$CACERT.new" "$CACERT"
}

sign() { # common-name extensions certificate key
  [ -f "$3" ] && return 0
  openssl req -new -newkey rsa:2048 -nodes -keyout "$4" -subj "$SUBJECT/CN=$1" -out "$3.csr" 2>/dev/null
  printf 'basicConstraints=CA:FALSE\nkeyUsage=digitalSignature,keyEncipherment\n%s\n' "$2" >"$3.ext"
  openssl x509 -req -sha256 -in "$3.csr" -CA "$CACERT" -CAkey "$CADIR/testca.key" -CAcreateserial \
    -extfile "$3.ext" -days 3650 -out "$3.new" 2>/dev/null
  chmod 600 "$4"; rm -f "$3.csr" "$3.ext"; mv "$3.new" "$3"
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
