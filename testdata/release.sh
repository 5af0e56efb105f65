#!/usr/bin/env bash
# Makes the release in DIR: an archive per platform, with programs, licence and
# a bill of materials, and the checksums of all. The same commit gives the same
# bytes on any machine with the same Go.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=${1:?usage: release.sh DIR}
version=$(git describe --tags --always --dirty 2>/dev/null || echo unknown)
when=$(git log -1 --format=%ct 2>/dev/null || echo 0)
rm -rf "$dir"
mkdir -p "$dir"
for platform in linux/amd64 linux/arm64; do
	name=grid-$version-${platform/\//-}
	mkdir -p "$dir/$name"
	CGO_ENABLED=0 GOOS=${platform%/*} GOARCH=${platform#*/} GOFLAGS= go build -trimpath -buildvcs=false \
		-ldflags '-s -w -buildid=' -o "$dir/$name/" ./cmd/grid ./cmd/grid-submit
	GOFLAGS= go run ./cmd/sbom "$dir/$name/grid" >"$dir/$name/grid.cdx.json"
	cp README.md LICENSE "$dir/$name/"
	tar --sort=name --mtime="@$when" --owner=0 --group=0 --numeric-owner --mode=u+rwX,go+rX,go-w \
		-C "$dir" -cf - "$name" | gzip -n -9 >"$dir/$name.tar.gz"
	rm -rf "${dir:?}/$name"
done
(cd "$dir" && sha256sum -- *.tar.gz >SHA256SUMS)
cat "$dir/SHA256SUMS"
