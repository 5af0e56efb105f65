#!/bin/bash
# Compares grid with ARC's own clients, 6.17 (Debian 12) and 7.0 (in the chroot), on the same CEs and the same jobs,
# one after the other in one run. Prints seconds and ratios. The testbed must be up; ARC_BENCH_N jobs (100).
#   bench.sh [submit6 submit7 broker output6 output7]      all by default
set -e
. "$(dirname "$0")/common.sh"
[ -f "$STATE/env" ] || { say "not up"; exit 1; }
set -a; . "$STATE/env"; set +a
N=${ARC_BENCH_N:-100}
read -r A1 A2 A3 <<<"$GRID_ARC_REST10"
read -r B1 B2 <<<"$GRID_ARC_REST11"
W=$STATE/bench W7=$CHROOT$JAIL/bench
rm -rf "$W" "$W7"; mkdir -p "$W/home/.arc"; [ ! -d "$CHROOT$JAIL" ] || mkdir -p "$W7/home/.arc"
(cd "$HERE/../../.." && CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$W/bin/grid" ./cmd/grid)
export GRID_STATE_DIR=$W/state XDG_CACHE_HOME=$W/cache GRID_CONFIG=$W/grid.toml
: >"$W/grid.toml"
grid() { "$W/bin/grid" "$@"; }
arc6() { (cd "$W" && HOME=$W/home "$@" 2>&1 | cat); }
arc7() {
  jailed HOME=$JAIL/bench/home X509_CERT_DIR=$JAIL/certificates X509_USER_PROXY=$JAIL/user/alice/proxy.pem \
    sh -c 'cd "$0" && exec "$@"' $JAIL/bench "$@" 2>&1 | cat
}

seconds() { # command... ; its output goes to $W/out
  local t0 t1; t0=$(date +%s%N); "$@" >"$W/out" 2>&1 || { echo "failed: $*" >&2; tail -3 "$W/out" >&2; }; t1=$(date +%s%N)
  awk -v n=$(((t1 - t0) / 1000000)) 'BEGIN{printf "%.3f\n", n / 1000}'
}
ratio() { # what theirs ours wanted
  awk -v w="$1" -v t="$2" -v o="$3" -v n="$4" 'BEGIN{printf "%-46s theirs %8.3f s  grid %7.3f s  %6.1f x  (wanted %s x)\n", w, t, o, t/o, n}'
}
median() { sort -n | awk '{a[NR]=$1} END{print a[int((NR+1)/2)]}'; }

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

# Removes every job of the user on a CE, whoever sent it.
wipe() { # URL
  local a
  for a in kill clean; do
    curl -s --cacert "$GRID_ARC_CA_CERT" --cert "$X509_USER_PROXY" -H 'Accept: application/xml' "$1/rest/1.0/jobs" |
      curl -s --cacert "$GRID_ARC_CA_CERT" --cert "$X509_USER_PROXY" -H 'Content-Type: application/xml' -o /dev/null --data-binary @- "$1/rest/1.0/jobs?action=$a"
  done
  rm -rf "$W"/home/.arc/jobs* "$W7"/home/.arc/jobs* "$W/state"
}

ours() { # name URL -> submit status cancel
  S=$(cd "$W" && seconds grid submit --no-cache --info "$2" b*.jdl)
  T=$(seconds grid status --all)
  [ "$(grep -c ' b[0-9]' "$W/out")" = "$N" ] || say "grid: $(grep -c ' b[0-9]' "$W/out") of $N jobs in its status"
  K=$(seconds grid cancel --all)
}

submit() { # client version URL wanted wanted-with-input discovery-options
  local v=$1 ver=$2 url=$3; shift 3
  local want=$1 size s t k; shift 2
  for size in 0 10000; do
    jobs /bin/sleep 600 $size
    wipe "$url"
    s=$(cd "$W" && seconds "$v" arcsub -C "$url" "$@" $(cd "$W"; ls b*.xrsl))
    t=$(seconds "$v" arcstat -a); k=$(seconds "$v" arckill -k -a)
    wipe "$url"
    ours "$ver" "$url"
    wipe "$url"
    ratio "$ver submit of $N, input $size B" "$s" "$S" "$([ $size = 0 ] && echo "$want" || echo $((want == 50 ? 30 : 20)))"
    [ $size != 0 ] || { ratio "$ver status of $N" "$t" "$T" 1; ratio "$ver cancel of $N" "$k" "$K" 30; }
  done
}
submit6() { submit arc6 6.17 "$A1" 50 30 -T arcrest -Q arcrest; }
submit7() { submit arc7 7.0 "$B1" 30 20 -T arcrest; }

broker() {
  jobs /bin/true "" 0
  local theirs ours i
  for i in 1 2 3 4 5; do
    theirs="$theirs $(seconds arc6 arcsub -c "$A1" -c "$A2" -c "$A3" -I org.nordugrid.arcrest -S org.nordugrid.arcrest -b Random b001.xrsl)"
    ours="$ours $(seconds grid submit --no-cache --info "$A1" --info "$A2" --info "$A3" "$W/b001.jdl")"
  done
  ratio "one job brokered over three CEs (median of 5)" "$(printf '%s\n' $theirs | median)" "$(printf '%s\n' $ours | median)" 3
  for i in "$A1" "$A2" "$A3"; do wipe "$i"; done
}

output() { # client version URL arcsync-option
  jobs /bin/echo "hello" 0
  wipe "$3"
  (cd "$W" && grid submit --no-cache --info "$3" b*.jdl >/dev/null)
  say "waiting for $N jobs to end"
  local i; for i in $(seq 1 300); do [ "$(grid status --all | grep -c ' done ')" != "$N" ] || break; sleep 3; done
  mkdir -p "$W/got"; local o t
  o=$(cd "$W/got" && seconds grid output --all)
  [ "$(find "$W/got" -name out.txt | wc -l)" = "$N" ] || say "grid brought $(find "$W/got" -name out.txt | wc -l) of $N"
  "$1" arcsync "$4" "$3" -f >/dev/null
  t=$(seconds "$1" arcget -k -a)
  grep -q "$N, successfully retrieved: $N" "$W/out" || say "arcget: $(grep retrieved "$W/out")"
  ratio "$2 output of $N" "$t" "$o" 10
  rm -rf "$W/got"; wipe "$3"
}
output6() { output arc6 6.17 "$A3" -c; }
output7() { output arc7 7.0 "$B2" -C; }

for part in ${*:-submit6 submit7 broker output6 output7}; do
  case $part in *7) [ -n "$B1" ] || continue ;; esac
  $part
done
