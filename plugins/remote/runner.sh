# The site's side of a back-end. This text is fixed and comes anew with every
# command, at the head of standard input: nothing at the site is run because of
# its name. No word of a job is ever part of a command line here. Words of jobs
# come as lines of standard input or as files, and are only ever used as quoted
# parameters. What stands before it is the
# batch system's: the environment of its commands, and
#
#   send_one GROUP JOB   run in BASE/batches/BATCH: submits one group, whose
#                        jobs run the file JOB; prints the batch system's id
#   sent_id ID           run in BASE, if it is there: prints the batch system's id of
#                        a job's group where the job's own files tell it
#
#   sh runner.sh BASE exec COMMAND ARG...   one of the batch system's commands
#   sh runner.sh BASE said COMMAND ARG...   the same, standard error as well
#   sh runner.sh BASE submit BATCH          standard input: a tar of the batch, packed by gzip
#   sh runner.sh BASE check                 is BASE fit for use?
#   sh runner.sh BASE find                  standard input: our ids
#   sh runner.sh BASE list                  all jobs that were sent from here
#   sh runner.sh BASE describe              standard input: our ids
#   sh runner.sh BASE absent|revive|outcomes|cancelled|clean   the same
#   sh runner.sh BASE members               standard input: names of arrays, BATCH.GROUP
#
# BASE/batches/BATCH/ holds what is being submitted, BASE/jobs/ID/ a job:
#   at        batch, group and line of the job in the group; then its description,
#             which older programs put into a file of its own, jdl
#   words.sh  at its head the names of standard output and standard error, "" for
#             none, and of the files to be fetched, a line each, which older programs
#             put into files of their own, streams and outputs; then the job's own
#             words, as functions for job.sh
#   work/     the job's directory; where jobs run in one of the node only if it has input files
#   log, outcome, cancelled, gone; of jobs that run in a directory of the node
#   out/ is what came back: work, log, outcome
# A job's directory is made whole and moved to its place by one rename, so
# that it is there or not. Its name is taken once: by a submission, or by
# "find", which takes the names it does not find and so makes sure that a
# submission that still hangs somewhere can no longer happen.
umask 077
LC_ALL=C; export LC_ALL
PATH=$PATH:/usr/local/bin:/usr/bin:/bin; export PATH
base=$1 verb=$2
shift 2
# A command of the batch system needs no file of ours.
case $verb in
exec) cd / && exec "$@" ;;
said) cd / && exec "$@" 2>&1 ;;
esac
mkdir -p "$base/jobs" "$base/batches" && cd "$base" || exit 71

# unsafe tells of a directory that others could have put files into. The first
# line of ls is BASE itself, which must be the user's; the others are what it
# lies in, where root and sticky directories are well, too.
unsafe() {
  me=$(id -u) d=$(pwd -P)
  set -- .
  while [ -n "$d" ]; do d=${d%/*}; set -- "$@" "${d:-/}"; done
  first=1
  ls -ldn -- "$@" | while read -r mode links uid gid rest; do
    case $first$uid in ?"$me"|00) ;; *) echo "it belongs to user $uid: $mode $rest" ;; esac
    case $first$mode in
    0?????????[tT]*) ;;
    ??????w*|?????????w*) echo "others can write to it: $mode $rest" ;;
    esac
    first=0
  done
}
why=$(unsafe)
[ -z "$why" ] || { echo "$base is not used: $why" >&2; exit 77; }

# id_ok keeps names that could leave the directory out.
id_ok() { case $1 in ''|.*|-*|*[!A-Za-z0-9._-]*) return 1 ;; esac; }

submit() {
  id_ok "$1" || exit 64
  mkdir -p "batches/$1" && cd "batches/$1" || exit 73
  tar -xzf - && [ -e end ] || { echo "fail the description did not arrive whole"; exit 74; }
  dup=
  while read -r id; do
    if [ -e "../../jobs/$id/gone" ]; then echo "gone $id"; dup=1
    elif [ -e "../../jobs/$id" ]; then echo "dup $id"; dup=1; fi
  done <ids
  if [ -n "$dup" ]; then cd ../.. && rm -rf "batches/$1"; exit 0; fi
  while read -r from id name; do
    cp -p "inputs/$from" "new/$id/work/$name" || { echo "fail no room for input files"; exit 73; }
  done <copy
  rm -rf inputs
  mv -n new/* ../../jobs/ && rmdir new || { echo "fail a job of this name appeared"; exit 75; }
  while read -r group; do one "$group" || exit 0; done <plan
}

# one submits one group. "busy" is there while a job may be on its way; "stop"
# forbids another.
one() {
  group=$1
  echo "$$ $(uname -n)" >busy
  if [ -e stop ]; then rm -f busy; return 1; fi
  job=$(send_one "$group" "$PWD/job.sh" 2>"$group.err" </dev/null)
  code=$?
  if [ $code = 0 ] && [ -n "$job" ]; then
    echo "$job" >"$group.id"
    rm -f busy
    echo "ok $group $job"
  elif [ $code = 0 ]; then
    rm -f busy
    echo "lost $group"
  else
    rm -f busy
    echo "no $group $code $(tr '\n\r' '  ' <"$group.err" | cut -c1-1000)"
  fi
}

# quiet forbids a batch to go on and waits until it does not. It fails when a
# submission is still on its way. One that is older than ten minutes is over,
# even if it runs on another login host and cannot be asked.
quiet() {
  [ -d "batches/$1" ] || return 0
  : >"batches/$1/stop"
  n=0
  while [ -e "batches/$1/busy" ]; do
    read -r pid host <"batches/$1/busy" || continue
    if [ "$host" = "$(uname -n)" ] && ! kill -0 "$pid" 2>/dev/null; then break; fi
    [ -z "$(find "batches/$1/busy" -mmin +10 2>/dev/null)" ] || break
    n=$((n + 1)); [ $n -le 10 ] || return 1
    sleep 1
  done
}

find_ids() {
  calm=
  while read -r id; do
    id_ok "$id" || continue
    if mkdir "jobs/$id" 2>/dev/null; then : >"jobs/$id/gone"; fi
    if [ -e "jobs/$id/gone" ] || [ ! -e "jobs/$id/at" ]; then echo "none $id"; continue; fi
    read -r batch group line <"jobs/$id/at"
    case " $calm " in *" $batch "*) ;; *)
      quiet "$batch" || { echo "busy $id"; continue; }
      calm="$calm $batch" ;;
    esac
    job=-
    if [ -s "batches/$batch/$group.id" ]; then read -r job <"batches/$batch/$group.id"
    elif command -v sent_id >/dev/null; then job=$(sent_id "$id" 2>/dev/null) || job=-; fi
    echo "at $id $batch $group $line $job"
  done
}

# list tells of every job that was given to the batch system, as find does.
list() {
  for dir in jobs/*/; do
    id=${dir#jobs/} id=${id%/}
    id_ok "$id" && [ -e "jobs/$id/at" ] && [ ! -e "jobs/$id/gone" ] || continue
    read -r batch group line <"jobs/$id/at"
    [ -s "batches/$batch/$group.id" ] || continue
    read -r job <"batches/$batch/$group.id"
    echo "at $id $batch $group $line $job"
  done
}

# describe prints descriptions, each with a mark before its lines.
describe() {
  while read -r id; do
    id_ok "$id" && [ -f "jobs/$id/at" ] || continue
    echo "job $id"
    if [ -f "jobs/$id/jdl" ]; then sed 's/^/|/' "jobs/$id/jdl"; else sed '1d;s/^/|/' "jobs/$id/at"; fi
    echo
  done
}

# absent takes the names of jobs that the batch system was asked about and does not have. One that it takes in later
# all the same, from a submission that waited in its network, finds nothing to run.
absent() {
  while read -r id; do
    id_ok "$id" && [ -d "jobs/$id" ] && : >"jobs/$id/gone" && rm -f "jobs/$id/words.sh"
  done
}

revive() { while read -r id; do id_ok "$id" && [ -e "jobs/$id/gone" ] && rm -rf "jobs/$id"; done; }

outcomes() {
  while read -r id; do
    id_ok "$id" && [ -d "jobs/$id" ] || continue
    echo "job $id"
    [ ! -e "jobs/$id/cancelled" ] || echo cancelled
    if [ -e "jobs/$id/outcome" ]; then cat "jobs/$id/outcome"
    elif [ -e "jobs/$id/out/outcome" ]; then cat "jobs/$id/out/outcome"; fi
    echo # ends a line that was cut
  done
}

# members prints the jobs of arrays in their order, after a line with the array's name.
members() {
  while read -r name; do
    id_ok "$name" || continue
    echo "array $name"
    cat "batches/${name%.*}/${name##*.}.ids" 2>/dev/null
    echo # ends a line that was cut
  done
}

cancelled() { while read -r id; do id_ok "$id" && [ -d "jobs/$id" ] && : >"jobs/$id/cancelled"; done; }

clean() {
  batches=
  while read -r id; do
    id_ok "$id" && [ -d "jobs/$id" ] || continue
    if [ -e "jobs/$id/at" ]; then
      read -r batch group line <"jobs/$id/at"
      case " $batches " in *" $batch "*) ;; *) batches="$batches $batch" ;; esac
    fi
    rm -rf "jobs/$id"
  done
  for batch in $batches; do
    used=
    while read -r id; do
      [ ! -e "jobs/$id/at" ] || { used=1; break; }
    done <"batches/$batch/ids"
    [ -n "$used" ] || rm -rf "batches/$batch"
  done
}

case $verb in
submit) submit "$1" ;;
check) ;;
find) find_ids ;;
list) list ;;
describe) describe ;;
absent) absent ;;
revive) revive ;;
outcomes) outcomes ;;
members) members ;;
cancelled) cancelled ;;
clean) clean ;;
*) exit 64 ;;
esac
exit 0
