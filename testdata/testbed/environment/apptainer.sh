#!/usr/bin/env bash
# apptainer.sh DIR: unpacks apptainer of Debian's unstable release into DIR, with the C library that it wants, for tests on
# a release that has none: DIR/usr/bin/apptainer. Nothing is installed, the machine's own list of packages stays as it is.
set -euo pipefail
to=$1
new=$to.new
rm -rf "$new"
mkdir -p "$new/apt/lists/partial" "$new/apt/archives/partial"
: >"$new/apt/status"
mirror=$(awk '/^URIs:/{print $2; exit}' /etc/apt/sources.list.d/debian.sources 2>/dev/null || true)
echo "deb ${mirror:-http://deb.debian.org/debian} sid main" >"$new/apt/sid.list"
own=(-qq -o APT::Sandbox::User=root -o "Dir::Etc::sourcelist=$new/apt/sid.list" -o Dir::Etc::sourceparts=/dev/null
	-o "Dir::State::lists=$new/apt/lists" -o "Dir::State::status=$new/apt/status" -o "Dir::Cache=$new/apt")
apt-get "${own[@]}" update
(cd "$new" && apt-get "${own[@]}" download apptainer libc6 libseccomp2 libsqlite3-0)
for package in "$new"/*.deb; do dpkg-deb -x "$package" "$new"; done
rm -rf "$new"/*.deb "$new/apt"
libs=$to/usr/lib/$(uname -m)-linux-gnu
for program in usr/bin/apptainer "usr/lib/$(uname -m)-linux-gnu/apptainer/bin/starter"; do
	patchelf --set-interpreter "$libs/$(basename "$new"/usr/lib/*/ld-linux-*)" --force-rpath --set-rpath "$libs" "$new/$program"
done
# Each of its programs looks for its settings beside the folder that it finds itself in.
for at in usr usr/lib "usr/lib/$(uname -m)-linux-gnu"; do
	ln -sfn "$(realpath --relative-to="$new/$at" "$new/etc")" "$new/$at/etc"
	mkdir -p "$new/$at/var/lib/apptainer/mnt/session"
done
chmod -R a+rX "$new"
rm -rf "$to"
mv "$new" "$to"
