# The steps of a job, the same under every batch system. This text is fixed.
# The batch system's own text follows: it finds the job's directory, says where
# the outcome goes (the variable "outcome") and calls begin and run_job there.
umask 077

# begin notes the start.
begin() { echo "started $(date +%s) $(uname -n)" >>"$outcome"; }

# end writes the outcome: the processor time that was used (of the shell, then of what it waited for), the code, and the
# step that failed.
end() { { echo used; times; echo "ended $(date +%s) $1 $2"; } >>"$outcome"; leave "$1" "$2"; }

# enter finds which of the tags that the job asks for is an environment of the node: its programs then run inside. A
# node without our launcher may have the software just so, unless a tag is VEE-..., the job brings an image or the site
# says that it deploys environments ("must"): what is to run inside never runs outside.
# What keeps a job from running is told by the step "deploy".
inside= given= image= launched=../launched
enter() {
  [ -z "${GRID_CONTAINER:-}" ] || return 0 # the batch system has put the job into its image already
  program=$(PATH=$PATH:/usr/local/bin:/opt/grid/bin; command -v "$launcher") && [ -e "$node" ] || {
    [ -n "$must" ] || return 0
    echo "this node has no $launcher or no $node, and the job runs inside or not at all: $*"
    end 125 deploy
  }
  inside=$("$program" which --node "$node" ${image:+--image "$image"} "$@") || end 125 deploy
  case "$must$inside $*" in
  yes\ [Vv][Ee][Ee]-*|yes\ *\ [Vv][Ee][Ee]-*) echo "this node has no definition for any of: $*"; end 125 deploy ;;
  esac
  [ -z "$inside" ] || given=GRID_GIVEN_
}

# step runs a program: a file of the job's directory, else one on PATH; inside the environment, if there is one.
step() {
  case $1 in
  */*) ;;
  *) if [ -e "./$1" ]; then prog=./$1; shift; set -- "$prog" "$@"; fi ;;
  esac
  if [ -z "$inside" ]; then
    runnable "$1"
    "$@"
  else
    case $1 in /*) ;; *) runnable "$1" ;; esac # an absolute name is one of the environment's
    launch "$@"
  fi
}
# first runs a prologue: where it fails the program is not run, and the outcome says so. Last runs an epilogue, whatever the
# program's code, the variable "main"; not where the environment could not run the program.
first() {
  what=$1
  step "$@" && return
  code=$?
  [ -s "$launched" ] || echo prologue "$what ended with exit code $code" >"$launched"
  exit $code
}
last() {
  [ ! -s "$launched" ] || return 0
  step "$@" || { code=$?; [ "$main" != 0 ] || main=$code; }
  return "$main"
}
runnable() { if [ -f "$1" ] && [ ! -x "$1" ]; then chmod u+x "$1"; fi; }

# launch runs a program inside. What the batch system tells its jobs goes along.
launch() {
  rm -f "$launched"
  set -- "$inside" -- "$@"
  for name in SLURM_JOB_ID SLURM_ARRAY_JOB_ID SLURM_ARRAY_TASK_ID SLURM_NTASKS SLURM_CPUS_ON_NODE SLURM_JOB_NUM_NODES \
    SLURM_JOB_NODELIST CUDA_VISIBLE_DEVICES OMP_NUM_THREADS; do set -- --env "$name" "$@"; done
  GOMAXPROCS=1 "$program" run --node "$node" --sandbox . --report "$launched" --env-prefix GRID_GIVEN_ ${image:+--image "$image"} "$@"
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
  [ ! -e "$launched" ] || rm -f "$launched" # of a start before this one
  job_get || end 1 stage-in
  job_inside
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
  if [ -s "$launched" ]; then
    read -r word why <"$launched"
    echo "$why"
    case $word in start) end 126 start ;; prologue) end $code prologue ;; *) end 125 deploy ;; esac
  fi
  [ $code = 0 ] || end $code run
  job_put || end 1 stage-out
  end 0 -
}

