#!/usr/bin/env bash
# Installs what the tests of runtime environments need: launchers, a registry, a shell that needs no libraries, and in
# $GRID_TESTBED_DIR/environment a tree of Debian 11, where a mirror has it (without one the tests take busybox), a
# kernel for machines of their own and apptainer, unpacked from their packages and not installed.
set -euo pipefail
need=(bwrap:bubblewrap proot:proot crun:crun runc:runc podman:podman busybox:busybox-static docker-registry:docker-registry debootstrap:debootstrap keyctl:keyutils patchelf:patchelf)
machines=
if [ "$(dpkg --print-architecture)" = amd64 ]; then
	machines=yes
	need+=(qemu-system-x86_64:qemu-system-x86 mksquashfs:squashfs-tools depmod:kmod)
fi
missing=()
for n in "${need[@]}"; do
	PATH=$PATH:/usr/sbin:/sbin command -v "${n%%:*}" >/dev/null || missing+=("${n##*:}")
done
[ ${#missing[@]} = 0 ] || DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y -qq \
	--no-install-recommends "${missing[@]}"
st=${GRID_TESTBED_DIR:-/tmp/grid-testbed}/environment
mkdir -p "$st"

# kernel unpacks the kernel that Debian makes for machines of clouds, the smallest.
kernel() {
	local new=$st/kernel.new package version
	package=$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends: linux-image-/ {print $2; exit}')
	rm -rf "$new"
	mkdir "$new"
	(cd "$new" && apt-get -qq -o APT::Sandbox::User=root download "$package" && dpkg-deb -x ./*.deb . && rm ./*.deb)
	version=$(basename "$new"/lib/modules/*)
	PATH=$PATH:/usr/sbin:/sbin depmod -b "$new" "$version" || return 1 # set -e does not hold in a function before "||"
	mv "$new" "$st/kernel"
}
if [ -n "$machines" ] && ! compgen -G "$st/kernel/lib/modules/*/modules.dep" >/dev/null; then
	rm -rf "$st/kernel"
	kernel || echo 'no kernel from the mirror'
fi

[ -x "$st/apptainer/usr/bin/apptainer" ] || timeout 300 "$(dirname "$0")/apptainer.sh" "$st/apptainer" || echo 'no apptainer from the mirror'

[ ! -e "$st/debian11/etc/debian_version" ] || exit 0
mirror=$(awk '/^URIs:/{print $2; exit}' /etc/apt/sources.list.d/debian.sources 2>/dev/null || true)
rm -rf "$st/new"
if PATH=$PATH:/usr/sbin timeout 600 debootstrap --variant=minbase bullseye "$st/new" "${mirror:-http://deb.debian.org/debian}" >"$st/log" 2>&1; then
	rm -rf "$st"/new/var/cache/apt/archives/*.deb "$st"/new/var/lib/apt/lists/*
	mv "$st/new" "$st/debian11"
else
	echo "no Debian 11 from the mirror: $(tail -1 "$st/log")"
	rm -rf "$st/new"
fi
