#!/usr/bin/env bash
# Installs what the tests of runtime environments need: launchers, a registry, a shell that needs no libraries, and
# a tree of Debian 11 in $GRID_TESTBED_DIR/environment/debian11 where a mirror has it; without one the tests take busybox.
set -euo pipefail
need=(bwrap:bubblewrap proot:proot crun:crun runc:runc busybox:busybox-static docker-registry:docker-registry debootstrap:debootstrap keyctl:keyutils)
missing=()
for n in "${need[@]}"; do
	PATH=$PATH:/usr/sbin command -v "${n%%:*}" >/dev/null || missing+=("${n##*:}")
done
[ ${#missing[@]} = 0 ] || DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y -qq \
	--no-install-recommends "${missing[@]}"
st=${GRID_TESTBED_DIR:-/tmp/grid-testbed}/environment
[ ! -e "$st/debian11/etc/debian_version" ] || exit 0
mirror=$(awk '/^URIs:/{print $2; exit}' /etc/apt/sources.list.d/debian.sources 2>/dev/null || true)
mkdir -p "$st"
rm -rf "$st/new"
if PATH=$PATH:/usr/sbin timeout 600 debootstrap --variant=minbase bullseye "$st/new" "${mirror:-http://deb.debian.org/debian}" >"$st/log" 2>&1; then
	rm -rf "$st"/new/var/cache/apt/archives/*.deb "$st"/new/var/lib/apt/lists/*
	mv "$st/new" "$st/debian11"
else
	echo "no Debian 11 from the mirror: $(tail -1 "$st/log")"
	rm -rf "$st/new"
fi
