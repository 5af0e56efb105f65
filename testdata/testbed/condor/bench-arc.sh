#!/bin/bash
# bench-arc.sh - compares grid with HTCondor's own grid universe (grid_resource =
# arc) in front of the same A-REX 7.0, the same jobs, in turns in one run: until
# all ids are known, until all are cancelled; then both are killed in the middle
# of a submission, and what the CE has is held against what they recorded. Both
# testbeds, arc and condor, must be up. It acts as bob and removes only the jobs
# that it has made. (A-REX 6.17 does not work with Debian 13's HTCondor at all.)
#   bench-arc.sh [speed kill]      both by default
#   ARC_BENCH_N     jobs (100)
#   ARC_BENCH_RUNS  turns (3)
#   KILL_AT         ids known when the grid universe's manager is killed (30 % and half of the jobs)
#   KILL_AFTER      seconds after which grid is killed
set -euo pipefail
. "$(dirname "$0")/common.sh"
. "$here/peer.sh"
arc=$top/arc
for bed in "$st" "$arc"; do [ -f "$bed/env" ] || { echo "not up: $bed" >&2; exit 1; }; done
set -a; . "$arc/env"; . "$st/env"; set +a
N=${ARC_BENCH_N:-100} RUNS=${ARC_BENCH_RUNS:-3}
read -r CE _ <<<"$GRID_ARC_REST11"
W=$arc/bench-condor J=$GRID_CONDOR_JOBS/bench-arc
exec 9>"$arc/bench.lock"; flock -n 9 || { echo "another run is going on" >&2; exit 1; }
rm -rf "$W" "$J"; mkdir -p "$W" "$J"
(cd "$here/../../.." && CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$W/grid" ./cmd/grid)
export X509_USER_PROXY=$GRID_ARC_USERS/bob/proxy.pem XDG_CACHE_HOME=$W/cache GRID_CONFIG=$W/grid.toml GRID_STATE_DIR=$W/state
: >"$W/grid.toml"

# What HTCondor needs in its tree: the CEs' names, their authority, the proxy.
for name in $(grep -o '[a-z0-9]*\.arc\.test' /etc/hosts | sort -u); do
  grep -q " $name\$" "$tree/etc/hosts" || echo "127.0.0.1 $name" >>"$tree/etc/hosts"
done
certs=$tree/etc/grid-security/certificates
mkdir -p "$certs"; cp -L "$X509_CERT_DIR"/*.0 "$X509_CERT_DIR"/*.signing_policy "$certs/"
install -m 600 "$X509_USER_PROXY" "$J/proxy.pem"; chown -R 5017:5017 "$J"

write_jobs "arc $CE/rest/1.0" "use_x509userproxy = true
x509userproxy = $J/proxy.pem"

at_ce() { # ids of bob's jobs there
  curl -s -m 60 --retry 3 --retry-all-errors --cacert "$GRID_ARC_CA_CERT" --cert "$X509_USER_PROXY" -H 'Accept: application/xml' "$CE/rest/1.0/jobs" |
    grep -o '<id>[^<]*' | cut -c5- | sort
}
remove_at_ce() { # file of ids
  local a; sed 's#.*#<job><id>&</id></job>#' "$1" | { echo "<jobs>"; cat; echo "</jobs>"; } >"$W/ids.xml"
  for a in kill clean; do
    curl -s -m 60 --retry 3 --retry-all-errors --cacert "$GRID_ARC_CA_CERT" --cert "$X509_USER_PROXY" -H 'Content-Type: application/xml' -o /dev/null --data-binary "@$W/ids.xml" "$CE/rest/1.0/jobs?action=$a"
    sleep 5
  done
}

known_theirs() { condor q "$cluster" -af GridJobId 2>/dev/null | awk '$1=="arc" && NF==3{print $3}' | sort; }
gone_theirs() {
  condor rm "$cluster" >/dev/null
  local end=$((SECONDS + 240))
  until [ -z "$(condor q "$cluster" -af ProcId)" ] || [ $SECONDS -ge $end ]; do sleep .3; done
}
known_ours() { "$W/grid" list --all --json --jq '.jobs[].handle.id | select(. != "" and . != null)' | sort; }
away_ours() { "$W/grid" cancel --all --yes >/dev/null 2>&1 || true; sleep 8; "$W/grid" clean --all --yes --forget >/dev/null 2>&1 || true; rm -rf "$GRID_STATE_DIR"; }

# HTCondor takes its jobs from the CE with the proxy: that goes when they are gone.
finish() {
  away_ours
  [ -z "$cluster" ] || gone_theirs 2>/dev/null || true
  if [ -n "$cluster" ] && [ "$(condor q "$cluster" -af ProcId 2>&1)" ]; then
    echo "jobs of cluster $cluster are still in HTCondor's queue; their proxy stays in $J" >&2
  else
    rm -rf "$J"
  fi
}
trap finish EXIT

speed() {
  local i t s k held
  row "| turn | who | all ids of $N | recorded, held | cancelled | load |"; row "|---|---|---|---|---|---|"
  for i in $(seq 1 "$RUNS"); do
    t=$(now); submit_theirs; settle_theirs 600; s=$(since "$t"); held=$(held_theirs)
    k="$(known_theirs | wc -l), $held"
    t=$(now); gone_theirs; row "| $i | grid universe | $s s | $k | $(since "$t") s | $(load) |"; cluster=
    t=$(now); (cd "$W" && ./grid submit --no-cache --scouts 0 --info "$CE" b*.jdl >out 2>&1) || tail -3 "$W/out" >&2
    s=$(since "$t"); k="$(known_ours | wc -l), $("$W/grid" list --state held,failed --json --jq '.jobs | length')"
    t=$(now); "$W/grid" cancel --all --yes >/dev/null; row "| $i | grid | $s s | $k | $(since "$t") s | $(load) |"; away_ours
  done
}

# compare NAME RECORDED-FILE: what is at the CE since $W/before and no record names is left over or doubled.
compare() {
  at_ce | comm -13 "$W/before" - >"$W/there"
  row "| $1 | $3 | $(wc -l <"$2") | $(wc -l <"$W/there") | $(comm -13 "$2" "$W/there" | wc -l) | $4 |"
  comm -13 "$2" "$W/there" >"$W/left"; [ ! -s "$W/left" ] || remove_at_ce "$W/left"
}
kill_theirs() { # when so many ids are known
  at_ce >"$W/before"
  submit_theirs
  local end=$((SECONDS + 300)) n pid
  until n=$(known_theirs | wc -l); [ "$n" -ge "$1" ] || [ $SECONDS -ge $end ]; do sleep .1; done
  for pid in $(cat /proc/[0-9]*/task/*/children 2>/dev/null | tr ' ' '\n' | sort -u); do
    [ "$(readlink "/proc/$pid/exe" 2>/dev/null)" = "$tree/usr/sbin/condor_gridmanager" ] && kill -9 "$pid" && break
  done
  settle_theirs 400; known_theirs >"$W/known"
  compare "grid universe, gridmanager killed" "$W/known" "$n" "$(held_theirs)"
  gone_theirs; cluster=
}
kill_ours() { # after so many seconds
  at_ce >"$W/before"
  (cd "$W" && exec ./grid submit --no-cache --scouts 0 --info "$CE" b*.jdl >out 2>&1) & local p=$!
  sleep "$1"; kill -9 $p 2>/dev/null || true; wait $p 2>/dev/null || true
  local n; n=$(known_ours | wc -l)
  sleep 3; "$W/grid" status --all >"$W/out" 2>&1 || true
  "$W/grid" resubmit --state intended,failed --info "$CE" --yes >>"$W/out" 2>&1 || true
  local end=$((SECONDS + 400))
  until [ "$(known_ours | wc -l)" -ge "$N" ] || [ $SECONDS -ge $end ]; do
    sleep 10; "$W/grid" status --all >"$W/out" 2>&1 || true
    "$W/grid" resubmit --state intended,failed --info "$CE" --yes >>"$W/out" 2>&1 || true
  done
  known_ours >"$W/known"
  compare "grid, killed after $1 s" "$W/known" "$n" "$("$W/grid" list --state held,failed --json --jq '.jobs | length')"
  away_ours
}
kills() {
  row "| killed | ids recorded by then | recorded in the end | at the CE | of these in no record | held or failed |"; row "|---|---|---|---|---|---|"
  local s
  for s in ${KILL_AT-$((N * 3 / 10)) $((N / 2))}; do kill_theirs "$s"; done
  for s in ${KILL_AFTER:-0.3 0.4 0.5 0.6 0.8}; do kill_ours "$s"; done
}
for part in ${*:-speed kill}; do case $part in speed) speed ;; kill) kills ;; *) echo "no part $part" >&2; exit 2 ;; esac; done >&2
cat "$W/table"
