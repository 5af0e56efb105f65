#!/usr/bin/env bash
# Runs every test. As root, or with sudo that asks nothing, it first installs
# what the tests need from Debian's packages and starts the real servers;
# otherwise the tests of real servers are left out. With sudo all of it runs as
# root, as the servers' keys are root's, and what is compiled lies with the
# servers, so that nothing in the caller's home belongs to root. Ends with the
# list of what was left out and why.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
export GRID_TESTBED_DIR=${GRID_TESTBED_DIR:-/tmp/grid-testbed}
cd "$top" || exit 1

if [ "$(id -u)" != 0 ] && sudo -n true 2>/dev/null; then
	go mod download || exit 1 # as the caller, into his cache
	exec sudo -n -E env PATH="$PATH" HOME=/root GOMODCACHE="$(go env GOMODCACHE)" GOCACHE="$GRID_TESTBED_DIR.go-build" \
		GOENV=off GOFLAGS="$(go env GOFLAGS)" GOPROXY="$(go env GOPROXY)" GOTOOLCHAIN="$(go env GOTOOLCHAIN)" "$here/run-tests.sh"
fi
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
	[ ${#missing[@]} = 0 ] || env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y -qq \
		--no-install-recommends "${missing[@]}" >/dev/null || true
}
stop() {
	! kill -0 "$starting" 2>/dev/null || echo 'the servers that are starting are waited for' >&2
	wait "$starting"
	"$here/testbed.sh" down
}

# No debugger looks at the tests, nor at what they build: what it would need is neither compiled
# nor linked, which takes a seventh of what compiling does. Stacks name files and lines all the same.
GOFLAGS="$(go env GOFLAGS) -gcflags=gridbroker/...=-dwarf=false -ldflags=-w"
export GOFLAGS

# The race detector watches this project's code, and not SQLite, which is C made
# Go: it takes ten times as long under it, as most tests of the records would.
race=(-race -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc=-race=false)

# All but the tests of cmd/grid, which run programs that are built without the race
# detector: it would only watch the tests themselves.
others=$(go list ./... | grep -v '/cmd/grid$') || exit 1
mapfile -t others <<<"$others"

# The tests are compiled while the servers start, and the programs that they run.
{
	nice go list "${race[@]}" -test -export "${others[@]}" && nice go list -test -export ./cmd/... &&
		CGO_ENABLED=0 nice go list -export ./cmd/grid-launch ./cmd/grid-deploy
} >/dev/null 2>&1 &
compiling=$!

starting=
if [ "$(id -u)" = 0 ]; then
	tools
	trap stop EXIT
	"$here/testbed.sh" up &
	starting=$!
else
	echo 'neither root nor sudo: the tests of real servers are left out' >&2
fi

# The tests stand on their own: whatever a grid user has in the environment.
while IFS= read -r name; do unset "$name"; done < <(compgen -e | grep -E '^(X509_|BEARER_TOKEN|OIDC_|LCG_GFAL_INFOSYS$|NO_COLOR$|GRID_CONFIG$|GRID_STATE_DIR$)')

log=$(mktemp)
processors=$(nproc)
# Each process that the race detector watches would sleep for a second as it ends.
export GORACE=${GORACE:-atexit_sleep_ms=10}

# phase runs tests, keeps what they print in a log and shows what tells how they
# go. "make check" has run vet.
phase() { # LOG [ARGUMENTS OF GO TEST...]
	local out=$1
	shift
	go test -vet=off -count=1 -v "$@" 2>&1 | tee "$out" |
		grep --line-buffered -E '^(ok|FAIL|panic:|--- FAIL|\s+--- FAIL|WARNING: DATA RACE)|_test\.go:[0-9]+:.*(fail|want)|submissions in|GRID_SIM_SEED'
	local code=${PIPESTATUS[0]}
	printf '%d s after the start: %s has ended\n' "$SECONDS" "${out##*.}"
	return "$code"
}
# failed_in names the packages that failed in a log, each with a pattern of its
# tests that did; of one that died or did not start, of all.
failed_in() {
	awk '/^panic: / {died = 1}
		/^--- FAIL: / {names = names "|" $3}
		$1 == "FAIL" && $2 ~ /^gridbroker/ {print $2, died || names == "" ? "." : "^(" substr(names, 2) ")$"}
		($1 == "ok" || $1 == "FAIL") && $2 ~ /^gridbroker/ {died = 0; names = ""}' "$1"
}
# again runs once more what failed in a log, package by package.
again() { # LOG [FLAGS OF GO TEST...]
	local code=0 package pattern from=$1
	shift
	while read -r package pattern; do
		phase "$log.part" "$@" -timeout 30m -run "$pattern" "$package" </dev/null || code=1
		cat "$log.part" >>"$log.again"
	done < <(failed_in "$from")
	return "$code"
}
# tell prints what the tests that failed in a log said, thirty lines each.
tell() {
	awk '/^=== / {test = $3; next}
		/^ *--- FAIL: / {failed[++n] = $3; took[n] = $4; next}
		/^ *--- / {next}
		($1 == "ok" || $1 == "FAIL") && $2 ~ /^gridbroker/ {
			for (i = 1; i <= n; i++) printf "--- FAIL: %s %s of %s\n%s", failed[i], took[i], $2, said[failed[i]]
			n = 0; delete said; delete lines; test = ""
			next
		}
		lines[test]++ < 30 {said[test] = said[test] $0 "\n"}' "$1"
}

# whole_names prints PACKAGE TEST for what computes alone, and for replays and simulations
# in full, by the log of the tests under the race detector: it leaves time for a
# fraction of them, or for nothing. Which tests those are they say themselves (testbed.Whole).
whole_names() {
	awk '/run-tests.sh runs all of [A-Za-z0-9_]+/ {
			match($0, /runs all of [A-Za-z0-9_]+/)
			names[substr($0, RSTART + 12, RLENGTH - 12)]
		}
		($1 == "ok" || $1 == "FAIL") && $2 ~ /^gridbroker/ {for (n in names) print $2, n; delete names}' "$log.race" | sort -u
}
# ended prints PACKAGE TEST for what ended in one of these ways in a log.
ended() { # WAYS LOG
	awk -v ways="^--- ($1): " '$0 ~ ways {names[$3]}
		($1 == "ok" || $1 == "FAIL") && $2 ~ /^gridbroker/ {for (n in names) print $2, n; delete names}' "$2" | sort -u
}
# serverless prints PACKAGE TEST for those of them, as far as the text of the tests tells, whose
# packages know no server of the testbed.
serverless() {
	local package dir
	while read -r package dir; do
		compgen -G "$dir/*_test.go" >/dev/null || continue
		grep -qE 'testbed\.(Env|NeedARC|Dir|Postgres|OpenIssuer)\(' "$dir"/*_test.go && continue
		awk -v package="$package" '/^func / {name = ""}
			/^func Test[A-Za-z0-9_]*\(t \*testing\.T\)/ {name = $2; sub(/\(.*/, "", name)}
			/testbed\.(Whole|Computes|Measures)\(t\)/ && name != "" {print package, name}' "$dir"/*_test.go
	done < <(go list -f '{{.ImportPath}} {{.Dir}}' "${others[@]}") | sort -u
}
# plain runs tests without the race detector.
plain() { # LOG, and PACKAGE TEST in lines of standard input
	local names packages tests
	tests=$(cat)
	[ -n "$tests" ] || return 0
	names=$(awk '{print $2}' <<<"$tests" | sort -u | paste -sd'|')
	mapfile -t packages < <(awk '{print $1}' <<<"$tests" | sort -u)
	phase "$1" -p "$processors" -parallel $((processors < 4 ? 4 : processors)) -timeout 20m -run "^($names)\$" "${packages[@]}"
}

# left_of_whole prints PACKAGE TEST for what is yet to run without the race detector, of the packages whose
# tests under it have ended. What was left out while the servers started has what it needs now, perhaps.
left_of_whole() {
	comm -23 <(whole_names) <({ ended 'PASS|FAIL' "$log.early"; ended 'PASS|FAIL|SKIP' "$log.whole"; ended 'PASS|FAIL|SKIP' "$log.rest"; } | sort -u)
}
: | tee "$log".{race,early,whole,rest,programs,begun}

# beside runs, while other tests run under the race detector, what those packages left to run without it
# whose tests have ended: nobody has to wait for it when all others are done.
beside() {
	local code=0 tests
	while [ ! -e "$log.raced" ] && kill -0 $$ 2>/dev/null; do
		tests=$(comm -23 <(left_of_whole) <(sort "$log.begun"))
		if [ -n "$tests" ]; then
			echo "$tests" >>"$log.begun" # whatever becomes of it, it is not begun again here
			plain "$log.some" <<<"$tests" || code=1
			cat "$log.some" >>"$log.whole"
		fi
		sleep 2
	done
	return "$code"
}

# What needs no server and no race detector runs while the servers start.
(
	renice -n 5 -p "$BASHPID" >/dev/null # the servers go before
	code=0
	serverless | plain "$log.early" || code=1
	beside || code=$((code + 2))
	exit "$code"
) &
early=$!
[ -z "$starting" ] || wait "$starting"
wait "$compiling"
printf '%d s after the start: the servers are up, the tests compiled\n' "$SECONDS"

# The tests of cmd/grid wait for most of their time, and run beside the others.
phase "$log.programs" -timeout 30m ./cmd/grid &
programs=$!

# What takes longest begins first. Where there are few processors, two packages
# more than they are, and four tests of a package: those that wait for servers
# leave them free.
long=(./forecast/scheduler ./cmd/cli ./environment ./plugins/arcrest ./jobs ./plugins/htcondor ./plugins/slurm ./plugins/central ./forecast/managers/daemon)
racing() {
	phase "$log.race" "${race[@]}" -p $((processors < 4 ? processors + 2 : processors)) -parallel $((processors < 4 ? 4 : processors)) -timeout 40m "${long[@]}" "${others[@]}"
}

computing() {
	local code=0 tests
	: >"$log.rest"
	left_of_whole | plain "$log.rest" || code=1
	tests=$(left_of_whole)
	[ -z "$tests" ] || { sed 's/^/not run without the race detector: /' <<<"$tests" | tee -a "$log.rest" && code=1; }
	return "$code"
}

bad=() # phases that failed
racing || bad+=(race)
touch "$log.raced"
wait "$early"
plainly=$?
[ $((plainly & 1)) = 0 ] || bad+=(early)
[ $((plainly & 2)) = 0 ] || bad+=(whole)
computing || bad+=(rest)
wait "$programs" || bad+=(programs)
cat "$log".{race,early,whole,rest,programs} >"$log"
code=0

# told says whether the log of a phase that failed names what did.
told() { # PHASE
	[ -n "$(failed_in "$log.$1")" ] || grep -q '^not run without the race detector' "$log.$1"
}
# anew runs once more what failed in a phase.
anew() { # PHASE
	local flags=() code=0
	[ "$1" != race ] || flags=("${race[@]}")
	again "$log.$1" "${flags[@]}" || code=1
	if grep -q '^not run without the race detector' "$log.$1"; then
		computing || code=1 # one died before others had begun
		cat "$log.$1" >>"$log.again"
	fi
	return "$code"
}

# Real servers on a busy machine miss a beat now and then: what failed runs
# once more, alone. What fails twice has failed; what passes then is flaky, is
# listed with its output, and more than three of them fail the run.
flaky=()
if [ ${#bad[@]} -gt 0 ]; then
	failed=$(failed_in "$log" | awk '{print $1}' | sort -u | paste -sd' ')
	for name in "${bad[@]}"; do told "$name" || code=1; done
	! grep -q 'DATA RACE\|build failed\|setup failed' "$log" || code=1
	if [ "$code" = 0 ]; then
		printf '\nFailed, and run once more: %s\n' "$failed"
		tell "$log"
		mapfile -t flaky < <(awk '/^--- FAIL/ {print $3}' "$log" | sort -u)
		cp "$log" "$log.first"
		: >"$log.again"
		for name in "${bad[@]}"; do anew "$name" || code=1; done
		cat "$log.again" >>"$log"
	fi
fi

# skipped prints NAME: REASON for every test that was left out. A test says why
# after "=== RUN NAME", or after "=== NAME NAME" where others had the word between.
skipped() {
	awk '/^=== (RUN|CONT|NAME) / {at = $3}
		/^ +[A-Za-z0-9_]+\.go:[0-9]+: / {why[at] = $0}
		/^ *--- SKIP: / {said = why[$3]; sub(/^ +/, "", said); print $3 ": " said}' "$log"
}

echo
echo 'Left out:'
{
	for f in "$GRID_TESTBED_DIR"/*.left-out; do
		[ -e "$f" ] && printf '  testbed %s: %s\n' "$(basename "$f" .left-out)" "$(cat "$f")"
	done
	skipped | sed 's/^/  /' | grep -v ': run without the race detector'
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
	missing=$(skipped | grep -E "$(sed -n 's/^server //p' "$here/skips.txt" | paste -sd'|')" |
		grep -vE "$(sed -n 's/^may //p' "$here/skips.txt" | sed 's/  .*//' | paste -sd'|')" | sort -u)
	if [ -n "$missing" ]; then
		printf '\nLeft out without a reason in testdata/testbed/skips.txt:\n%s\n' "$missing"
		code=1
	fi
fi
if [ "$code" != 0 ]; then
	echo
	echo "Failed; the whole output is in $log:"
	tell "$log" | head -n 400
	grep -E -A12 -- '^panic:|DATA RACE|^FAIL.*(build|setup) failed' "$log" | head -n 100
else
	rm -f "$log" "$log".{race,early,whole,rest,programs,begun,some,raced,again,part}
fi
exit "$code"
