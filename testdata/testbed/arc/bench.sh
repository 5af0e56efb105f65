#!/bin/bash
# Compares grid with ARC's own clients, 6.17 (Debian 12) and 7.0 (in the chroot), on the same CEs and the same jobs,
# one after the other in one run, and prints a table: seconds, ratio, goal. The testbed must be up.
# It acts as bob, a user of its own, and cancels and removes only the jobs that it has made.
#   bench.sh [submit6 submit7 broker output6 output7]      all by default
#   ARC_BENCH_N        jobs (100)
#   ARC_BENCH_RUNS     how often grid is measured, for its median (3); the peers' long runs are measured once
set -e
. "$(dirname "$0")/common.sh"
[ -f "$STATE/env" ] || { say "not up"; exit 1; }
set -a; . "$STATE/env"; set +a
N=${ARC_BENCH_N:-100} RUNS=${ARC_BENCH_RUNS:-3}
SETTLE=15 # seconds until the CE has started what it can of the jobs sent, before it is asked about them
# Seconds after files were removed, before jobs are sent: ext4 passes over the inodes freed in the last minute, one by
# one, so that a CE that has just cleaned hundreds of jobs is two to three times slower at making new ones.
CALM=70
read -r A1 A2 A3 <<<"$GRID_ARC_REST10"
read -r B1 B2 <<<"$GRID_ARC_REST11"
W=$STATE/bench W7=$CHROOT$JAIL/bench
exec 9>"$STATE/bench.lock"; flock -n 9 || { say "another run is going on"; exit 1; }
rm -rf "$W" "$W7"; mkdir -p "$W/home/.arc"; [ ! -d "$CHROOT$JAIL" ] || mkdir -p "$W7/home/.arc"
(cd "$HERE/../../.." && CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$W/bin/grid" ./cmd/grid)
export X509_USER_PROXY=$GRID_ARC_USERS/bob/proxy.pem
export GRID_STATE_DIR=$W/state XDG_CACHE_HOME=$W/cache GRID_CONFIG=$W/grid.toml
: >"$W/grid.toml"; : >"$W/made"; : >"$W/table"
trap 'remove; ours_away' EXIT

grid() { "$W/bin/grid" "$@"; }
arc6() { (cd "$W" && HOME=$W/home "$@" 2>&1 | cat); }
arc7() {
  jailed HOME=$JAIL/bench/home X509_CERT_DIR=$JAIL/certificates X509_USER_PROXY=$JAIL/user/bob/proxy.pem \
    sh -c 'cd "$0" && exec "$@"' $JAIL/bench "$@" 2>&1 | cat
}

seconds() { # command... ; its output goes to $W/out
  local t0 t1; t0=$(date +%s%N); "$@" >"$W/out" 2>&1 || { echo "failed: $*" | cut -c1-100 >&2; tail -3 "$W/out" >&2; }; t1=$(date +%s%N)
  note_made
  awk -v n=$(((t1 - t0) / 1000000)) 'BEGIN{printf "%.3f\n", n / 1000}'
}
median() { sort -n | awk '{a[NR]=$1} END{print a[int((NR+1)/2)]}'; }
row() { # what peer theirs ours wanted
  awk -v w="$1" -v p="$2" -v t="$3" -v o="$4" -v n="$5" 'BEGIN{
    printf "| %s | %.3f s | %s | %.3f s | %.1f x | %s x | %s |\n", w, o, p, t, t/o, n, (t/o >= n ? "met" : "missed")}' | tee -a "$W/table"
}

# The URLs of jobs that ARC's clients say they have made.
note_made() { grep -o 'https://[^ ]*/rest/[0-9.]*/jobs/[0-9A-Za-z]*' "$W/out" | sort -u >>"$W/made" || true; }
# Cancels and removes these, one request per CE and action.
remove() {
  local url a
  for url in $(sed 's#/rest/.*##' "$W/made" | sort -u); do
    grep -F "$url/" "$W/made" | sed 's#.*/#<job><id>#; s#$#</id></job>#' | { echo "<jobs>"; cat; echo "</jobs>"; } >"$W/ids.xml"
    for a in kill clean; do
      curl -s --cacert "$GRID_ARC_CA_CERT" --cert "$X509_USER_PROXY" -H 'Content-Type: application/xml' -o /dev/null \
        --data-binary "@$W/ids.xml" "$url/rest/1.0/jobs?action=$a" || say "cannot remove jobs at $url"
    done
  done
  : >"$W/made"; rm -rf "$W"/home/.arc/jobs* "$W7"/home/.arc/jobs*
}
# The same for grid's own: a CE cleans a job once it has ended.
ours_away() {
  local i state
  for state in "$W"/state*; do
    [ -d "$state" ] || continue
    export GRID_STATE_DIR=$state
    grid cancel --all >/dev/null 2>&1 || true
    for i in $(seq 1 60); do grid status --all 2>/dev/null | grep -Eq ' (accepted|preparing|queued|running|finishing) ' || break; sleep 1; done
    grid clean --all --forget >/dev/null 2>&1 || true
    rm -rf "$state"
  done
  export GRID_STATE_DIR=$W/state
}

# Job descriptions for both: b001 ... of a command, with an input file or without.
jobs() { # command argument input-size
  local i n xin= jin=
  rm -f "$W"/b*.*; [ "$3" = 0 ] || head -c "$3" /dev/zero >"$W/input.dat"
  [ "$3" = 0 ] || { xin='(inputfiles=("input.dat" "input.dat"))' jin='InputSandbox={"input.dat"};'; }
  for i in $(seq 1 "$N"); do
    n=$(printf 'b%03d' "$i")
    echo "&(executable=\"$1\")(arguments=\"$2\")(jobname=\"$n\")(stdout=\"out.txt\")(stderr=\"err.txt\")(walltime=\"10 minutes\")$xin" >"$W/$n.xrsl"
    echo "JobName=\"$n\"; Executable=\"$1\"; Arguments=\"$2\"; StdOutput=\"out.txt\"; StdError=\"err.txt\"; $jin" >"$W/$n.jdl"
  done
  [ ! -d "$W7" ] || { rm -f "$W7"/b*; cp "$W"/b*.xrsl "$W7/"; [ "$3" = 0 ] || cp "$W/input.dat" "$W7/"; }
}

# grid's part, at one CE after the other: each run begins without any state, so that it delegates a credential as a
# first submission does. Nothing is removed in between.
ours() { # URL... -> medians S T K
  local i n url s= t= k=
  for i in $(seq 1 "$RUNS"); do
    url=$1; shift; set -- "$@" "$url"
    export GRID_STATE_DIR=$W/state$i
    s="$s $(cd "$W" && seconds grid submit --no-cache --info "$url" b*.jdl)"
    sleep "$SETTLE"
    for n in 1 2 3; do t="$t $(seconds grid status --all)"; done # as arcstat, which is asked as often
    [ "$(grep -c ' b[0-9]' "$W/out")" = "$N" ] || say "grid: $(grep -c ' b[0-9]' "$W/out") of $N jobs in its status"
    k="$k $(seconds grid cancel --all)"
  done
  S=$(printf '%s\n' $s | median) T=$(printf '%s\n' $t | median) K=$(printf '%s\n' $k | median)
}

submit() { # client version wanted wanted-with-input discovery-options -- URL...
  local v=$1 ver=$2 plain=$3 input=$4 how= size s t k i; shift 4
  while [ "$1" != -- ]; do how="$how $1"; shift; done; shift
  for size in 0 10000; do
    jobs /bin/sleep 600 $size
    sleep "$CALM"
    ours "$@"
    s=$(cd "$W" && seconds "$v" arcsub -C "$1" $how $(cd "$W"; ls b*.xrsl))
    [ "$(sort -u "$W/made" | wc -l)" = "$N" ] || say "arcsub: $(sort -u "$W/made" | wc -l) of $N jobs"
    sleep "$SETTLE"
    t=$(for i in $(seq 1 "$RUNS"); do seconds "$v" arcstat -a; done | median)
    k=$(seconds "$v" arckill -k -a)
    remove; ours_away
    row "submit of $N to $ver, $([ $size = 0 ] && echo "no input" || echo "10 kB input each")" "arcsub $ver" "$s" "$S" "$([ $size = 0 ] && echo "$plain" || echo "$input")"
    [ $size != 0 ] || { row "status of $N at $ver" "arcstat $ver" "$t" "$T" 1; row "cancel of $N at $ver" "arckill $ver" "$k" "$K" 30; }
  done
}
submit6() { submit arc6 6.17 50 30 -T arcrest -Q arcrest -- "$A3" "$A1" "$A2"; }
submit7() { submit arc7 7.0 30 20 -T arcrest -- "$B1" "$B2"; }

# 7.0 cannot broker over CEs that are named: 6.17 alone.
broker() {
  jobs /bin/true "" 0
  local theirs ours i
  for i in 1 2 3 4 5; do
    theirs="$theirs $(seconds arc6 arcsub -c "$A1" -c "$A2" -c "$A3" -I org.nordugrid.arcrest -S org.nordugrid.arcrest -b Random b001.xrsl)"
    ours="$ours $(seconds grid submit --no-cache --info "$A1" --info "$A2" --info "$A3" "$W/b001.jdl")"
  done
  row "one job brokered over three CEs (medians of 5)" "arcsub 6.17" "$(printf '%s\n' $theirs | median)" "$(printf '%s\n' $ours | median)" 3
  remove; ours_away
}

output() { # client version URL arcsync-option
  jobs /bin/echo "hello" 0
  (cd "$W" && grid submit --no-cache --info "$3" b*.jdl >/dev/null)
  say "waiting for $N jobs to end" >&2
  local i o= t; for i in $(seq 1 300); do [ "$(grid status --all | grep -c ' done ')" != "$N" ] || break; sleep 3; done
  for i in $(seq 1 "$RUNS"); do
    rm -rf "$W/got"; mkdir -p "$W/got"
    o="$o $(cd "$W/got" && seconds grid output --all)"
    [ "$(find "$W/got" -name out.txt | wc -l)" = "$N" ] || say "grid brought $(find "$W/got" -name out.txt | wc -l) of $N"
  done
  "$1" arcsync "$4" "$3" -f >/dev/null
  t=$(seconds "$1" arcget -k -a)
  grep -q "$N, successfully retrieved: $N" "$W/out" || say "arcget: $(grep retrieved "$W/out")"
  : >"$W/made"
  row "output of $N at $2" "arcget $2" "$t" "$(printf '%s\n' $o | median)" 10
  rm -rf "$W/got" "$W"/home/.arc/jobs* "$W7"/home/.arc/jobs*; ours_away
}
output6() { output arc6 6.17 "$A3" -c; }
output7() { output arc7 7.0 "$B2" -C; }

for part in ${*:-submit6 submit7 broker output6 output7}; do
  case $part in *7) [ -n "$B1" ] || continue ;; esac
  $part
done >&2
echo "| what | grid | peer | peer's time | ratio | goal | |"
echo "|---|---|---|---|---|---|---|"
cat "$W/table"
