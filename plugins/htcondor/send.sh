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

# sent_id tells the number that HTCondor gave a job, by the job's own event log: its first line is that it was
# submitted. It is there also where the queue and its history have forgotten the job.
sent_id() {
  read -r code at rest <"jobs/$1/events" && [ "$code" = 000 ] || return 1
  at=${at#"("} at=${at%%.*}
  while :; do case $at in 0?*) at=${at#0} ;; *) break ;; esac; done
  case $at in ''|*[!0-9]*) return 1 ;; esac
  echo "$at"
}
