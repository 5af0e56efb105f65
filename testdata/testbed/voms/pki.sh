# Sourced by up.sh: a CA with signing policy and CRL, the server's certificate, users.
CADIR=$STATE/certificates

make_ca() { # file-stem name folder
  [ -f "$STATE/$1.pem" ] || openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -keyout "$STATE/$1.key" -out "$STATE/$1.pem" -config /dev/null \
    -subj "$BASE/CN=$2" -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign \
    -addext subjectKeyIdentifier=hash 2>/dev/null
  mkdir -p "$3" "$STATE/$1.db"; : >>"$STATE/$1.db/index"
  local hash; hash=$(openssl x509 -in "$STATE/$1.pem" -noout -hash)
  cp "$STATE/$1.pem" "$3/$hash.0"
  printf "access_id_CA X509 '%s/CN=%s'\npos_rights globus CA:sign\ncond_subjects globus '\"%s/*\"'\n" \
    "$BASE" "$2" "$BASE" >"$3/$hash.signing_policy"
}

make_crl() { # file-stem folder
  printf '[ca]\ndefault_ca=d\n[d]\ndatabase=%s/index\ndefault_md=sha256\ndefault_crl_days=30\n' "$STATE/$1.db" >"$STATE/$1.db/cnf"
  openssl ca -config "$STATE/$1.db/cnf" -cert "$STATE/$1.pem" -keyfile "$STATE/$1.key" -gencrl \
    -out "$2/$(openssl x509 -in "$STATE/$1.pem" -noout -hash).r0" 2>/dev/null
}

make_cert() { # file-stem name extra-extensions
  [ -f "$STATE/$1.pem" ] && return 0
  openssl req -newkey rsa:2048 -nodes -keyout "$STATE/$1.key" -out "$STATE/$1.csr" -subj "$BASE/CN=$2" 2>/dev/null
  printf 'basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature,keyEncipherment\nsubjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n%s\n' \
    "${3:-}" >"$STATE/$1.ext"
  openssl x509 -req -in "$STATE/$1.csr" -CA "$STATE/ca.pem" -CAkey "$STATE/ca.key" -CAcreateserial -days 365 -sha256 \
    -extfile "$STATE/$1.ext" -out "$STATE/$1.pem" 2>/dev/null
  rm -f "$STATE/$1.csr" "$STATE/$1.ext"
}

make_pki() {
  (
    umask 077
    make_ca ca "Example VOMS Testbed CA" "$CADIR"
    make_cert voms "$HOST" "extendedKeyUsage=clientAuth,serverAuth
subjectAltName=DNS:$HOST,DNS:ip6-localhost,IP:127.0.0.1"
    make_cert alice "Alice Tester"
    make_cert bob "Bob Tester"
    make_cert mallory "Mallory Stranger"
    make_cert revoked "Rita Revoked"
    if ! grep -q Revoked "$STATE/ca.db/index"; then
      openssl ca -config <(printf '[ca]\ndefault_ca=d\n[d]\ndatabase=%s/index\ndefault_md=sha256\n' "$STATE/ca.db") \
        -cert "$STATE/ca.pem" -keyfile "$STATE/ca.key" -revoke "$STATE/revoked.pem" 2>/dev/null
    fi
    make_crl ca "$CADIR"
    make_ca other "Other CA" "$STATE/other-certificates"
  )
  chmod 755 "$STATE" "$CADIR"; chmod 644 "$CADIR"/*
}

make_vomses() {
  mkdir -p "$STATE/vomsdir/$VO"
  printf '%s/CN=%s\n%s/CN=Example VOMS Testbed CA\n' "$BASE" "$HOST" "$BASE" >"$STATE/vomsdir/$VO/$HOST.lsc"
  printf '"%s" "%s" "%s" "%s/CN=%s" "%s"\n' "$VO" "$HOST" "$PORT" "$BASE" "$HOST" "$VO" >"$STATE/vomses"
}
