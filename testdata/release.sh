#!/usr/bin/env bash
# Makes the release in DIR: for each platform an archive with programs, man
# pages, shell completion, an example configuration, the licences of all that
# is linked in and a bill of materials; for Linux also .deb and .rpm packages
# with systemd units; and the checksums of all. The same commit gives the same
# bytes on any machine with the same Go. PLATFORMS names fewer platforms.
# Programs for other systems than Linux come without grid-launch and grid-deploy.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=${1:?usage: release.sh DIR}
version=$(git describe --tags --always --dirty 2>/dev/null || echo unknown)
when=$(git log -1 --format=%ct 2>/dev/null || echo 0)
export SOURCE_DATE_EPOCH=$when GOFLAGS=-trimpath
rm -rf "$dir"
mkdir -p "$dir/common"
dir=$(cd "$dir" && pwd)
flags="-s -w -buildid= -X gridbroker/cmd/cli.release=$version"
host=$dir/common/host
CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "$flags" -o "$host" ./cmd/grid

# What is the same everywhere.
share=$dir/common/share
mkdir -p "$share"/{man/man1,bash-completion/completions,zsh/vendor-completions,fish/vendor_completions.d,doc/grid}
HOME=$dir/common "$host" man "$share/man/man1"
cp testdata/release/man/*.1 "$share/man/man1"
gzip -n -9 "$share"/man/man1/*.1
HOME=$dir/common "$host" completion bash >"$share/bash-completion/completions/grid"
HOME=$dir/common "$host" completion zsh >"$share/zsh/vendor-completions/_grid"
HOME=$dir/common "$host" completion fish >"$share/fish/vendor_completions.d/grid.fish"
HOME=$dir/common GRID_CONFIG=$share/doc/grid/grid.toml.example "$host" config init >/dev/null
cp README.md LICENSE "$share/doc/grid/"
cp -r docs "$share/doc/grid/docs"

# licences PLATFORM DIR: of every module that is linked into the programs there.
licences() {
	local programs=./cmd/grid
	[ "${1%/*}" != linux ] || programs+=" ./cmd/grid-launch ./cmd/grid-deploy"
	# shellcheck disable=SC2086
	CGO_ENABLED=0 GOOS=${1%/*} GOARCH=${1#*/} go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}}@{{.Version}} {{.Dir}}{{end}}{{end}}' $programs |
		sort -u | while read -r module from; do
		mkdir -p "$2/$module"
		find "$from" -maxdepth 1 -type f -iregex '.*/\(licen[cs]e\|copying\|notice\|copyright\|unlicense\)[^/]*' -exec install -m 644 -t "$2/$module" {} +
		[ -n "$(ls "$2/$module")" ] || { echo "$module has no licence" >&2; exit 1; }
	done
	install -Dm644 "$(go env GOROOT)/LICENSE" "$2/go/LICENSE"
}

# package DIR ARCH: .deb and .rpm of what was built in DIR.
package() {
	cat >"$dir/nfpm.yaml" <<YAML
name: grid
arch: $2
version: "$(testdata/release/version.sh "$version" "$when")"
version_schema: none
maintainer: The authors of grid <grid@example.org>
description: |
  Resource broker for grids and clusters
  Finds the best computing element for a job, runs it there and brings its
  output back: ARC, HTCondor, Slurm, this machine.
license: Apache-2.0
section: science
priority: optional
mtime: $(date -u -d "@$when" +%Y-%m-%dT%H:%M:%SZ)
contents:
  - {src: $1/bin/, dst: /usr/bin, type: tree}
  - {src: $share/man/man1/, dst: /usr/share/man/man1, type: tree}
  - {src: $share/bash-completion/completions/, dst: /usr/share/bash-completion/completions, type: tree}
  - {src: $share/zsh/vendor-completions/, dst: /usr/share/zsh/vendor-completions, type: tree}
  - {src: $share/fish/vendor_completions.d/, dst: /usr/share/fish/vendor_completions.d, type: tree}
  - {src: $share/doc/grid/, dst: /usr/share/doc/grid, type: tree}
  - {src: LICENSE, dst: /usr/share/doc/grid/copyright}
  - {src: $1/licences/, dst: /usr/share/doc/grid/licences, type: tree}
  - {src: testdata/release/grid-follow.service, dst: /usr/lib/systemd/user/grid-follow.service}
  - {src: testdata/release/grid-scheduler.service, dst: /usr/lib/systemd/system/grid-scheduler.service}
  - {src: testdata/release/grid-agent@.service, dst: /usr/lib/systemd/system/grid-agent@.service}
  - {src: testdata/release/sysusers.conf, dst: /usr/lib/sysusers.d/grid.conf}
YAML
	for kind in deb rpm; do
		go tool -modfile=testdata/release/go.mod nfpm package -f "$dir/nfpm.yaml" -p "$kind" -t "$dir/grid-$version-$2.$kind" >/dev/null
	done
	rm "$dir/nfpm.yaml"
}

for platform in ${PLATFORMS:-linux/amd64 linux/arm64 darwin/arm64 freebsd/amd64}; do
	name=grid-$version-${platform/\//-}
	mkdir -p "$dir/$name/bin"
	programs="./cmd/grid ./cmd/grid-submit"
	[ "${platform%/*}" != linux ] || programs+=" ./cmd/grid-launch ./cmd/grid-deploy"
	# shellcheck disable=SC2086
	CGO_ENABLED=0 GOOS=${platform%/*} GOARCH=${platform#*/} go build -trimpath -buildvcs=false -ldflags "$flags" -o "$dir/$name/bin/" $programs
	go run ./cmd/sbom "$dir/$name/bin/grid" >"$dir/$name/grid.cdx.json"
	licences "$platform" "$dir/$name/licences"
	cp -r "$share" "$dir/$name/share"
	cp README.md LICENSE "$dir/$name/"
	[ "${platform%/*}" != linux ] || install -Dm644 -t "$dir/$name/systemd" testdata/release/*.service testdata/release/sysusers.conf
	chmod -R u+rwX,go+rX,go-w "$dir/$name" "$share"
	[ "${platform%/*}" != linux ] || package "$dir/$name" "${platform#*/}"
	tar --sort=name --mtime="@$when" --owner=0 --group=0 --numeric-owner --mode=u+rwX,go+rX,go-w \
		-C "$dir" -cf - "$name" | gzip -n -9 >"$dir/$name.tar.gz"
	rm -rf "${dir:?}/$name"
done
rm -rf "${dir:?}/common"
(cd "$dir" && sha256sum -- *.tar.gz *.deb *.rpm >SHA256SUMS)
cat "$dir/SHA256SUMS"
