#!/usr/bin/env bash
# Installs what the tests of runtime environments need: launchers, a registry, a shell that needs no libraries.
set -euo pipefail
need=(bwrap:bubblewrap proot:proot busybox:busybox-static docker-registry:docker-registry debootstrap:debootstrap keyctl:keyutils)
missing=()
for n in "${need[@]}"; do
	PATH=$PATH:/usr/sbin command -v "${n%%:*}" >/dev/null || missing+=("${n##*:}")
done
[ ${#missing[@]} = 0 ] || DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y -qq \
	--no-install-recommends "${missing[@]}"
