#!/usr/bin/env bash
# Makes the release of this machine's platform twice, compares the bytes, and
# installs, uses and removes the Debian package below a directory of its own.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
arch=$(dpkg --print-architecture)
export PLATFORMS=linux/$arch
testdata/release.sh "$work/one" >/dev/null
testdata/release.sh "$work/two" >/dev/null
diff -r "$work/one" "$work/two"
echo "two releases are equal, byte for byte"

root=$work/root
mkdir -p "$root"/var/lib/dpkg/{info,updates,triggers}
touch "$root/var/lib/dpkg/status"
root_dpkg() { dpkg --root="$root" --log=/dev/null --force-not-root --force-script-chrootless "$@" >/dev/null; }
root_dpkg -i "$work"/one/*.deb
for program in "$root"/usr/bin/*; do
	[ -s "$root/usr/share/man/man1/${program##*/}.1.gz" ] || { echo "${program##*/} has no man page" >&2; exit 1; }
done
export HOME=$work/home XDG_RUNTIME_DIR=$work/home/run PATH="$root/usr/bin:$PATH"
mkdir -p "$HOME"
"$root/usr/bin/grid" --version
[ "$("$root/usr/bin/grid-submit" --version)" = "$("$root/usr/bin/grid" --version)" ]
[ "$("$root/usr/bin/grid" run -- echo from the package)" = "from the package" ]
"$root/usr/bin/grid" --config "$root/usr/share/doc/grid/grid.toml.example" config check >/dev/null
for want in man/man1/grid-submit.1.gz man/man1/grid-launch.1.gz man/man1/grid-deploy.1.gz doc/grid/copyright bash-completion/completions/grid zsh/vendor-completions/_grid \
	fish/vendor_completions.d/grid.fish doc/grid/licences/go/LICENSE doc/grid/docs/schema/grid.list.v2.json; do
	[ -s "$root/usr/share/$want" ] || { echo "$want is missing" >&2; exit 1; }
done
grep -q '^ExecStart=/usr/bin/grid follow$' "$root/usr/lib/systemd/user/grid-follow.service"
grep -q '^ExecStart=/usr/bin/grid scheduler serve ' "$root/usr/lib/systemd/system/grid-scheduler.service"
grep -q '^ExecStart=/usr/bin/grid agent run ' "$root/usr/lib/systemd/system/grid-agent@.service"
grep -q '^u grid ' "$root/usr/lib/sysusers.d/grid.conf"
root_dpkg -P grid
left=$(find "$root" -path "$root/var" -prune -o -type f -print)
[ -z "$left" ] || { echo "left behind: $left" >&2; exit 1; }
echo "the package was installed, used and removed"
