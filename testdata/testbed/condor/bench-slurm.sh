#!/bin/bash
# bench-slurm.sh - compares grid over SSH with HTCondor's own grid universe
# (grid_resource = batch slurm), in front of the same Slurm, the same jobs, in
# turns in one run: until all ids are known, until all are cancelled. The condor
# testbed must be up; the Slurm is one of its own, whose nodes another job holds,
# so that all jobs wait. Needs root. It puts Slurm's commands of this machine into
# the pool's tree, and mends there what keeps Debian 13's blahp from reading any
# state (Python 3.13 has no readfp any more).
#   BENCH_N     jobs (100)
#   BENCH_RUNS  turns (3)
set -euo pipefail
. "$(dirname "$0")/common.sh"
. "$here/peer.sh"
[ -f "$st/env" ] || { echo "not up: $st" >&2; exit 1; }
set -a; . "$st/env"; set +a
N=${BENCH_N:-100} RUNS=${BENCH_RUNS:-3}
bed=$top/condor-slurm W=$top/condor-slurm/bench J=$GRID_CONDOR_JOBS/bench-slurm
exec 9>"$st/bench-slurm.lock"; flock -n 9 || { echo "another run is going on" >&2; exit 1; }

finish() {
  [ -z "$cluster" ] || condor rm "$cluster" >/dev/null 2>&1 || true
  umount "$tree$bed/slurm" 2>/dev/null || true
  GRID_TESTBED_DIR=$bed "$here/../slurm/down.sh" >/dev/null 2>&1 9>&- || true
  rm -rf "$J" "$bed"
}
trap finish EXIT
rm -rf "$J" "$bed"; mkdir -p "$bed" "$J"; chown 5017:5017 "$J"
GRID_TESTBED_DIR=$bed GRID_TESTBED_SLURM_PORT=28950 "$here/../slurm/up.sh" --no-accounting >/dev/null 9>&-
mkdir -p "$W/home/.ssh"; chmod 711 "$bed/slurm/munge"; chmod -R go-w "$W"
(cd "$here/../../.." && CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$W/grid" ./cmd/grid)
install -m 600 "$bed/slurm/ssh/config" "$W/home/.ssh/config"
. "$bed/slurm/env"; export SLURM_CONF
sbatch -Q -o /dev/null -N8 --exclusive -t 60 --wrap 'sleep 3600'

# Slurm in the pool's tree: this machine's programs, configuration and key server.
libs=/usr/lib/x86_64-linux-gnu
mkdir -p "$tree$bed/slurm" "$tree$libs"
mount --bind "$bed/slurm" "$tree$bed/slurm"
cp -a "$libs/slurm-wlm" "$libs"/libmunge.so.2* "$tree$libs/"
for c in sbatch squeue scancel scontrol; do cp -L "$(command -v "$c")" "$tree/usr/local/bin/$c.slurm"
  printf '#!/bin/sh\nSLURM_CONF=%s exec /usr/local/bin/%s.slurm "$@"\n' "$bed/slurm/slurm.conf" "$c" >"$tree/usr/local/bin/$c"; chmod 755 "$tree/usr/local/bin/$c"
done
sed -i 's/self\.readfp(vfile)/self.read_file(vfile)/' "$tree/usr/libexec/blahp/blah.py"
sed -i 's#^slurm_binpath=.*#slurm_binpath=/usr/local/bin#' "$tree/etc/blah.config"
inuser /usr/local/bin/squeue -h >/dev/null

write_jobs "batch slurm"
# Theirs has arrived with an id such as "... slurm/DATE/ID".
known_theirs() { condor q "$cluster" -af GridJobId 2>/dev/null | grep 'slurm/[0-9]*/[0-9]' || true; }
waits() { squeue -h -t PD -o %i -r | wc -l; }
gone() { local end=$((SECONDS + 240)); until [ "$(waits)" = 0 ] || [ $SECONDS -ge $end ]; do sleep .2; done; }
ours() { (cd "$W" && env -u SLURM_CONF HOME="$W/home" XDG_CACHE_HOME="$W/cache" GRID_CONFIG="$W/home/grid.toml" GRID_STATE_DIR="$W/state" ./grid "$@"); }
: >"$W/home/grid.toml"

row "| turn | who | all ids of $N | recorded, held; at Slurm | cancelled | load |"; row "|---|---|---|---|---|---|"
for i in $(seq 1 "$RUNS"); do
  t=$(now); submit_theirs; settle_theirs 600; s=$(since "$t"); k="$(known_theirs | wc -l), $(held_theirs); $(waits)"
  t=$(now); condor rm "$cluster" >/dev/null; gone; row "| $i | batch slurm | $s s | $k | $(since "$t") s | $(load) |"
  until [ -z "$(condor q "$cluster" -af ProcId)" ]; do sleep .5; done; cluster=
  t=$(now); ours submit --no-cache --scouts 0 --info "slurm+ssh://gridlab$bed/slurm/job" "$W"/b*.jdl >"$W/out" 2>&1 || tail -3 "$W/out" >&2
  s=$(since "$t"); k="$(ours list --all --json --jq '.jobs[].handle.id | select(. != "" and . != null)' | wc -l), $(ours list --state held,failed --json --jq '.jobs | length'); $(waits)"
  t=$(now); ours cancel --all --yes >/dev/null; gone; row "| $i | grid | $s s | $k | $(since "$t") s | $(load) |"
  ours clean --all --yes --forget >/dev/null 2>&1 || true; rm -rf "$W/state"
done
