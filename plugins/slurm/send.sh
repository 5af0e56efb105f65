# How Slurm is told of jobs. The options of a group are the lines of GROUP.args.
SLURM_TIME_FORMAT=%s; export SLURM_TIME_FORMAT
PATH=$PATH:/opt/slurm/bin:/usr/local/slurm/bin; export PATH
send_one() {
  name=$1 file=$2
  set --
  while IFS= read -r word; do set -- "$@" "$word"; done <"$name.args"
  id=$(sbatch --parsable --chdir="$PWD" "$@" "$file" "$name") || return $?
  echo "${id%%;*}"
}
