# The steps of a job, the same under every batch system. This text is fixed.
# The batch system's own text follows: it finds the job's directory, says where
# the outcome goes (the variable "outcome") and calls begin and run_job there.
umask 077

# begin notes the start.
begin() { echo "started $(date +%s) $(uname -n)" >>"$outcome"; }

# end writes the outcome: the code, and the step that failed.
end() { echo "ended $(date +%s) $1 $2" >>"$outcome"; leave "$1" "$2"; }

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


# run_job runs the steps that words.sh, which was read before, defines.
run_job() {
  trap 'end 143 signal' TERM
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
}

