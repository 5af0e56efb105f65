# How HTCondor is told of jobs: GROUP.sub is the submit file, the lines of
# GROUP.args are options of condor_submit. The whole file is one transaction.
PATH=$PATH:/opt/condor/bin:/usr/local/condor/bin; export PATH
send_one() {
  name=$1 file=$2
  set --
  while IFS= read -r word; do set -- "$@" "$word"; done <"$name.args"
  ids=$(condor_submit -terse "$@" "jobfile=$file" "$name.sub") || return $?
  ids=${ids##*
}
  echo "${ids%%.*}"
}
