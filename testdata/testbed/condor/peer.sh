# peer.sh - sourced by the comparisons with HTCondor's grid universe. They set
# W (a directory of their own), J (one that HTCondor's user can reach) and N.
cluster= # of the jobs that HTCondor has
now() { date +%s%N; }
since() { awk -v n=$((($(now) - $1) / 1000000)) 'BEGIN{printf "%.2f", n / 1000}'; }
load() { cut -d' ' -f1 /proc/loadavg; }
row() { echo "$*" | tee -a "$W/table"; }
condor() { (cd "$J" && "$GRID_CONDOR_BIN/condor_$1" "${@:2}"); }

# write_jobs writes the same jobs for both.
write_jobs() { # GRID_RESOURCE [FURTHER LINES]
  local i n
  for i in $(seq 1 "$N"); do
    n=$(printf 'b%03d' "$i")
    echo "JobName=\"$n\"; Executable=\"/bin/sleep\"; Arguments=\"600\"; StdOutput=\"out.txt\"; StdError=\"err.txt\";" >"$W/$n.jdl"
  done
  cat >"$J/jobs.sub" <<C
universe = grid
grid_resource = $1
executable = /bin/sleep
transfer_executable = false
arguments = 600
output = out.\$(Process)
error = err.\$(Process)
log = jobs.log
request_memory = 100MB
${2:-}
queue $N
C
}

# condor_submit only queues; a job has arrived when it has an id of the site, or is held for a person.
submit_theirs() { cluster=$(condor submit -terse jobs.sub | sed 's/\..*//'); }
held_theirs() { condor q "$cluster" -hold -af ProcId 2>/dev/null | wc -l; }
settle_theirs() { # seconds at most
  local end=$((SECONDS + $1))
  until [ $(($(known_theirs | wc -l) + $(held_theirs))) -ge "$N" ] || [ $SECONDS -ge $end ]; do sleep .2; done
}
