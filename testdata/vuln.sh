#!/usr/bin/env bash
# Looks for known vulnerabilities in what the programs really call. Without the
# database (GOVULNDB, by default https://vuln.go.dev) it says so and passes.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
version=v1.9.0
db=${GOVULNDB:-https://vuln.go.dev}
case $db in
http*)
	if ! timeout 20 curl -fsS --output /dev/null "$db/index/db.json" 2>/dev/null; then
		echo "govulncheck: left out: the database $db cannot be reached"
		exit 0
	fi ;;
esac
exec go run "golang.org/x/vuln/cmd/govulncheck@$version" -db "$db" ./...
