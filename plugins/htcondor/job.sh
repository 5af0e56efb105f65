# What HTCondor runs on the node, after the text of the steps, in a directory of
# the node: words.sh and, of a job with input files, work/ were brought there, and
# out/ is brought back. HTCondor's own streams are the job's, so that it can show them
# while the job runs; they are put in their place when it has ended. A step
# that failed is told by the signal that ends this script, since HTCondor keeps
# that: USR1 stage-in, USR2 stage-out, XCPU the wall time was used up, HUP the
# node could not make the job's environment, QUIT it does not have the program, ALRM
# the prologue failed.
limit=$1
top=$PWD
ulimit -c 0
mkdir -p out/work work
exec </dev/null >>out/log 2>&1
outcome=$top/out/outcome
begin
. ./words.sh
# names prints those of one kind from the head of words.sh.
names() { sed -n "/^#/!q; s/^#$1 //p" words.sh; }
stdout=$(names stdout) stderr=$(names stderr)
names output >outputs

# show makes a stream of HTCondor the file of the job's directory.
show() {
  [ -n "$1" ] || return 0
  mkdir -p "work/$(dirname "$1")" && rm -f "work/$1" && ln -s "$top/$2" "work/$1"
}
show "$stdout" _condor_stdout
[ "$stderr" = "$stdout" ] || show "$stderr" _condor_stderr

# place puts the stream where the job's user looks for it.
place() {
  if [ -n "$1" ] && [ -h "work/$1" ]; then rm -f "work/$1"; mv "$2" "work/$1"; : >"$2"; fi
}

# take moves one file or directory of the job to what goes back.
take() {
  [ -e "work/$1" ] || return 0
  mkdir -p "out/work/$(dirname "$1")" && rm -rf "out/work/$1" && mv "work/$1" "out/work/$1"
}

# collect takes the outputs; where one is a pattern, the whole directory, of
# which the patterns are matched when it is fetched.
collect() {
  place "$stdout" _condor_stdout
  place "$stderr" _condor_stderr
  if grep -q '[*?[\\]' outputs; then
    rm -rf out/work && mv work out/work
  else
    while IFS= read -r name; do take "$name"; done <outputs
  fi
  find out ! -type f ! -type d ! -type l -exec rm -f {} \;
  find out -type l ! -exec test -e {} \; -exec rm -f {} \;
}

leave() {
  trap '' TERM
  cd "$top" || exit 71
  [ ! -e over ] || echo "ended $(date +%s) 152 limit" >>out/outcome
  collect
  if [ -e over ]; then kill -XCPU $$; fi
  case $2 in
  stage-in) kill -USR1 $$ ;;
  stage-out) kill -USR2 $$ ;;
  deploy) kill -HUP $$ ;;
  start) kill -QUIT $$ ;;
  prologue) kill -ALRM $$ ;;
  esac
  exit "$1"
}

if [ "$limit" -gt 0 ]; then
  ( sleep "$limit"; : >over; kill -TERM $$ ) >/dev/null 2>&1 &
fi
cd work || exit 71
run_job
