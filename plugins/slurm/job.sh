#!/bin/sh
# What Slurm runs on the node. This text is fixed; it starts in the batch's
# directory, finds the job's directory by the line of its group, and runs the
# steps that words.sh there defines. The outcome is written beside the job's
# directory, for sites without accounting.
umask 077
group=$1
line=${SLURM_ARRAY_TASK_ID:-1}
id=$(sed -n "${line}p" "$group.ids")
[ -n "$id" ] && cd "../../jobs/$id/work" || exit 71
exec </dev/null >>../log 2>&1
echo "started $(date +%s) $(uname -n)" >>../outcome

# end writes the outcome: the code, and the step that failed.
end() { echo "ended $(date +%s) $1 $2" >>../outcome; exit "$1"; }
trap 'end 143 signal' TERM

# step runs a program: a file of the job's directory, else one on PATH.
step() {
  case $1 in
  */*) ;;
  *) if [ -e "./$1" ]; then prog=./$1; shift; set -- "$prog" "$@"; fi ;;
  esac
  if [ -f "$1" ] && [ ! -x "$1" ]; then chmod u+x "$1"; fi
  "$@"
}

# get and put move files by URL with what the node has.
get() {
  case $1 in
  http://*|https://*) curl --fail --silent --show-error --location --proto =http,https --max-redirs 10 --output "$2" -- "$1" ;;
  *) gfal-copy -f -p "$1" "file://$PWD/$2" ;;
  esac
}
put() {
  case $2 in
  http://*|https://*) curl --fail --silent --show-error --proto =http,https --upload-file "$1" -- "$2" ;;
  *) gfal-copy -f -p "file://$PWD/$1" "$2" ;;
  esac
}

. ../words.sh
job_get || end 1 stage-in
(
  trap - TERM
  job_environment
  job_streams || exit 1
  job_run
) &
child=$!
trap 'kill -TERM $child 2>/dev/null; end 143 signal' TERM
wait $child
code=$?
trap 'end 143 signal' TERM
[ $code = 0 ] || end $code run
job_put || end 1 stage-out
end 0 -
