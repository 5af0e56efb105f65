#!/usr/bin/env bash
# Runs every test. As root, or with sudo that asks nothing, it first installs
# what the tests need from Debian's packages and starts the real servers;
# otherwise the tests of real servers are left out. Ends with the list of what
# was left out and why.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
export GRID_TESTBED_DIR=${GRID_TESTBED_DIR:-/tmp/grid-testbed}
cd "$top" || exit 1

as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo -n -E)
# tools installs what tests use beside the servers: the shells whose completion
# is tested, strace, which makes disks fail and records what was written, a
# terminal, other programs to compare with, and the browser for the scheduler's
# page. Without them those tests are left out.
tools() {
	local n missing=()
	for n in zsh:zsh fish:fish strace:strace tmux:tmux curl:curl pcre2test:pcre2-utils skopeo:skopeo chromium:chromium; do
		command -v "${n%%:*}" >/dev/null || missing+=("${n##*:}")
	done
	[ -e /usr/share/bash-completion/bash_completion ] || missing+=(bash-completion)
	[ ${#missing[@]} = 0 ] || "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y -qq \
		--no-install-recommends "${missing[@]}" >/dev/null || true
}
stop() { "${as_root[@]}" "$here/testbed.sh" down; }

# The tests are compiled while the servers start.
nice go list -race -test -export ./... >/dev/null 2>&1 &
compiling=$!

if "${as_root[@]}" true 2>/dev/null; then
	trap stop EXIT
	"${as_root[@]}" "$here/testbed.sh" up
	tools
else
	echo 'neither root nor sudo: the tests of real servers are left out' >&2
fi

wait "$compiling"

# The tests stand on their own: whatever a grid user has in the environment.
while IFS= read -r name; do unset "$name"; done < <(compgen -e | grep -E '^(X509_|BEARER_TOKEN|OIDC_|LCG_GFAL_INFOSYS$|NO_COLOR$|GRID_CONFIG$|GRID_STATE_DIR$)')

# What takes longest begins first. Where there are few processors, one package
# more than they are, and four tests of a package: those that wait for servers
# leave them free.
long=(./cmd/grid ./forecast/scheduler ./cmd/cli ./batch ./plugins/arcrest ./plugins/htcondor ./plugins/slurm ./jobs)
log=$(mktemp)
processors=$(nproc)
go test -race -count=1 -p $((processors < 4 ? processors + 1 : processors)) -parallel $((processors < 4 ? 4 : processors)) -timeout 40m -v "${long[@]}" ./... 2>&1 | tee "$log" |
	grep --line-buffered -E '^(ok|FAIL|panic:|--- FAIL|\s+--- FAIL|WARNING: DATA RACE)|_test\.go:[0-9]+:.*(fail|want)'
code=${PIPESTATUS[0]}

# The replays of traces, and the simulation of sending and following, in full:
# the race detector leaves time for a fraction.
if [ "$code" = 0 ]; then
	go test -count=1 -timeout 20m -v -run 'TestSimulation|TestMauiTable|TestLive$|TestPlain|TestFeed|TestPageOfManyClusters|TestNobodyStarves' \
		./jobs/simtest ./batch ./forecast/scheduler 2>&1 |
		tee -a "$log" | grep -E '^(ok|FAIL|--- FAIL)|submissions in|GRID_SIM_SEED'
	code=${PIPESTATUS[0]}
fi

# What freezes, kills or fills servers runs when nobody else needs them.
if [ "$code" = 0 ]; then
	GRID_ALONE=1 go test -count=1 -timeout 10m -v -run 'TestFrozenARC|TestKilledARC|TestFullARC' ./cmd/grid 2>&1 |
		tee -a "$log" | grep -E '^(ok|FAIL|--- FAIL)|_test\.go:[0-9]+:'
	code=${PIPESTATUS[0]}
fi

# Real servers on a busy machine miss a beat now and then: what failed runs
# once more, alone. What fails twice has failed; what passes then is flaky, is
# listed with its output, and more than three of them fail the run.
flaky=()
if [ "$code" != 0 ]; then
	mapfile -t failed < <(awk '$1 == "FAIL" && $2 ~ /^gridbroker/ {print $2}' "$log" | sort -u)
	if [ ${#failed[@]} -gt 0 ] && ! grep -q 'DATA RACE\|build failed\|setup failed' "$log"; then
		printf '\nFailed, and run once more: %s\n' "${failed[*]}"
		grep -E -- '^ *--- FAIL' "$log"
		mapfile -t flaky < <(awk '/^--- FAIL/ {print $3}' "$log" | sort -u)
		cp "$log" "$log.first"
		GRID_ALONE=1 go test -race -count=1 -p 1 -timeout 30m -v "${failed[@]}" 2>&1 | tee -a "$log" |
			grep --line-buffered -E '^(ok|FAIL|panic:|--- FAIL|\s+--- FAIL|WARNING: DATA RACE)'
		code=${PIPESTATUS[0]}
	fi
fi

echo
echo 'Left out:'
{
	for f in "$GRID_TESTBED_DIR"/*.left-out; do
		[ -e "$f" ] && printf '  testbed %s: %s\n' "$(basename "$f" .left-out)" "$(cat "$f")"
	done
	# A skipped test prints its reason in the line before "--- SKIP".
	awk '/_test\.go:[0-9]+: / {why=$0} /--- SKIP/ {sub(/^ +/,"",why); print "  " $3 ": " why}' "$log"
} | sort | uniq | sed 's/^$/  nothing/'
if [ "$code" = 0 ] && [ ${#flaky[@]} -gt 0 ]; then
	printf '\nFlaky: failed, and passed the second time; the output is in %s:\n' "$log.first"
	printf '  %s\n' "${flaky[@]}"
	if [ ${#flaky[@]} -gt 3 ]; then
		echo 'More than three: that is a failure.'
		code=1
	fi
fi

# Strict: in CI a test of a real server that was left out is a failure, unless
# skips.txt says why it may be.
if [ "${CI:-}" = true ] && [ "$code" = 0 ]; then
	missing=$(awk '/_test\.go:[0-9]+: / {why=$0} /--- SKIP/ {sub(/^ +/,"",why); print $3 ": " why}' "$log" |
		grep -E "$(sed -n 's/^server //p' "$here/skips.txt" | paste -sd'|')" |
		grep -vE "$(sed -n 's/^may //p' "$here/skips.txt" | sed 's/  .*//' | paste -sd'|')" | sort -u)
	if [ -n "$missing" ]; then
		printf '\nLeft out without a reason in testdata/testbed/skips.txt:\n%s\n' "$missing"
		code=1
	fi
fi
if [ "$code" != 0 ]; then
	echo
	echo "Failed; the whole output is in $log:"
	grep -E -A12 -- '--- FAIL|^panic:|DATA RACE|^FAIL.*(build|setup) failed' "$log" | head -n 200
else
	rm -f "$log"
fi
exit "$code"
