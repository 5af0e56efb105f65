#!/usr/bin/env bash
# Starts an OpenID Connect issuer of Debian's packages (Glewlwyd) over TLS on
# loopback, with the user alice, the public client grid-cli for the device flow
# and the confidential client grid-page for the authorization code flow, which
# sends browsers back to https://localhost:$GRID_TESTBED_OIDC_PAGE. Tokens are for
# the resource (RFC 8707) that is asked for, if it is one of that port's.
# Writes $GRID_TESTBED_DIR/oidc/env (KEY=VALUE) and prints it. Needs root, to
# install packages. Idempotent: what is up stays up.
set -euo pipefail
base=${GRID_TESTBED_DIR:-/tmp/grid-testbed}/oidc
port=${GRID_TESTBED_OIDC_PORT:-17891}
page=${GRID_TESTBED_OIDC_PAGE:-17892}
url=https://localhost:$port

# Its own service is not started: it would listen on all addresses.
install() {
	local missing=() policy=/usr/sbin/policy-rc.d made=
	command -v glewlwyd >/dev/null || missing+=(glewlwyd)
	command -v sqlite3 >/dev/null || missing+=(sqlite3)
	command -v curl >/dev/null || missing+=(curl)
	command -v openssl >/dev/null || missing+=(openssl)
	[ ${#missing[@]} -gt 0 ] || return 0
	[ -e "$policy" ] || { made=1; printf '#!/bin/sh\nexit 101\n' >"$policy"; chmod 755 "$policy"; }
	DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends "${missing[@]}" >/dev/null || { [ -z "$made" ] || rm -f "$policy"; return 1; }
	[ -z "$made" ] || rm -f "$policy"
}

# certificates makes an authority, its directory, and the issuer's and the page's certificate.
certificates() {
	(
		mkdir -p "$base/certificates"
		chmod 755 "$base" "$base/certificates"
		cd "$base"
		openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out certificates/ca.pem -days 3650 -subj '/O=Testbed/CN=Testbed Issuer CA'
		openssl req -newkey rsa:2048 -nodes -keyout host.key -out host.csr -subj '/O=Testbed/CN=localhost'
		openssl x509 -req -in host.csr -CA certificates/ca.pem -CAkey ca.key -CAcreateserial -out host.pem -days 3650 \
			-extfile <(echo 'subjectAltName=DNS:localhost,IP:127.0.0.1')
		chmod 644 host.key
		openssl rehash certificates
		openssl genrsa -out sign.key 2048
		openssl rsa -in sign.key -pubout -out sign.pub
	) 2>/dev/null
}

configure() {
	[ -s "$base/db" ] || zcat -f /usr/share/doc/glewlwyd/database/init.sqlite3.sql* | sqlite3 "$base/db"
	cat >"$base/glewlwyd.conf" <<C
port=$port
bind_address="127.0.0.1"
external_url="$url"
login_url="login.html"
api_prefix="api"
log_mode="file"
log_level="INFO"
log_file="$base/log"
static_files_path="/usr/share/glewlwyd/webapp/"
cookie_secure=1
session_expiration=2419200
session_key="GLEWLWYD2_SESSION_ID"
admin_scope="g_admin"
profile_scope="g_profile"
user_module_path="/usr/lib/glewlwyd/user"
client_module_path="/usr/lib/glewlwyd/client"
user_auth_scheme_module_path="/usr/lib/glewlwyd/scheme"
plugin_module_path="/usr/lib/glewlwyd/plugin"
use_secure_connection=true
secure_connection_key_file="$base/host.key"
secure_connection_pem_file="$base/host.pem"
hash_algorithm="SHA512"
database={ type="sqlite3"; path="$base/db"; };
C
}

# call asks the issuer's API as its administrator.
call() { # METHOD PATH DOCUMENT
	curl -sS --fail-with-body --max-time 20 --cacert "$base/certificates/ca.pem" -b "$base/admin" -c "$base/admin" -X "$1" -H 'Content-Type: application/json' -d "$3" "$url/api/$2"
}

# line is a file as a JSON string.
line() { awk '{printf "%s\\n", $0}' "$1"; }

# plugin is the issuer's part for OpenID Connect.
plugin() {
	local resources="[\"https://localhost:$page\"]"
	cat <<P
{"module": "oidc", "name": "oidc", "display_name": "oidc", "enabled": true, "parameters": {
	"iss": "$url/api/oidc", "jwt-type": "rsa", "jwt-key-size": "256", "key": "$(line "$base/sign.key")", "cert": "$(line "$base/sign.pub")",
	"access-token-duration": 3600, "refresh-token-duration": 1209600, "code-duration": 600, "refresh-token-rolling": true, "refresh-token-one-use": "always",
	"allow-non-oidc": true, "auth-type-code-enabled": true, "auth-type-token-enabled": false, "auth-type-id-token-enabled": true, "auth-type-none-enabled": true,
	"auth-type-password-enabled": false, "auth-type-client-enabled": false, "auth-type-device-enabled": true, "auth-type-refresh-enabled": true,
	"jwks-show": true, "pkce-allowed": true, "pkce-method-plain-allowed": false, "subject-type": "public",
	"device-authorization-expiration": 600, "device-authorization-interval": 1, "allowed-scope": ["openid", "compute.create"],
	"resource-allowed": true, "resource-client-property": "", "resource-scope-and-client-property": false,
	"resource-scope": {"compute.create": $resources, "compute.read": $resources, "openid": $resources}}}
P
}

# fill makes the issuer, its scopes, alice, and the clients.
fill() {
	local scopes="compute.create compute.read compute.modify compute.cancel offline_access" s
	call POST auth/ '{"username": "admin", "password": "password"}'
	call POST mod/plugin/ "$(plugin)"
	for s in $scopes; do
		call POST scope/ "{\"name\": \"$s\", \"display_name\": \"$s\", \"password_required\": true, \"password_max_age\": 0, \"scheme\": {}}"
	done
	call POST user/ "{\"username\": \"alice\", \"password\": \"alice of the testbed\", \"name\": \"Alice\", \"enabled\": true, \"scope\": [\"g_profile\", \"openid\", \"${scopes// /\", \"}\"]}"
	call POST client/ '{"client_id": "grid-cli", "name": "grid", "confidential": false, "enabled": true, "authorization_type": ["device_authorization", "refresh_token"],
		"token_endpoint_auth_method": ["none"], "redirect_uri": [], "scope": []}'
	call POST client/ "{\"client_id\": \"grid-page\", \"name\": \"page\", \"confidential\": true, \"client_secret\": \"page-secret-of-the-testbed\", \"password\": \"page-secret-of-the-testbed\", \"enabled\": true,
		\"authorization_type\": [\"code\", \"refresh_token\"], \"token_endpoint_auth_method\": [\"client_secret_basic\"], \"redirect_uri\": [\"https://localhost:$page/login/back\"], \"scope\": []}"
	touch "$base/filled"
}

up() { curl -s --max-time 5 --cacert "$base/certificates/ca.pem" -o /dev/null "$url/api/.well-known/"; }

install
if ! { [ -e "$base/filled" ] && up; }; then
	"$(dirname "$0")/down.sh" # and what is left of who was interrupted
	certificates
	configure
	setsid glewlwyd --config-file="$base/glewlwyd.conf" >"$base/out" 2>&1 </dev/null &
	for _ in $(seq 1 100); do up && break || sleep 0.2; done
	fill >"$base/fill.log"
fi
cat >"$base/env" <<V
GRID_OIDC_URL=$url
GRID_OIDC_TESTBED_ISSUER=$url/api/oidc
GRID_OIDC_TESTBED_PAGE=$page
GRID_OIDC_CERTIFICATES=$base/certificates
GRID_OIDC_HOST_CERT=$base/host.pem
GRID_OIDC_HOST_KEY=$base/host.key
V
chmod 644 "$base/env"
cat "$base/env"
