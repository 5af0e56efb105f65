# What Slurm runs on the node, after the text of the steps. It starts in the
# batch's directory and finds the job's directory by the line of its group. The
# outcome is written beside the job's directory, for sites without accounting.
group=$1
line=${SLURM_ARRAY_TASK_ID:-1}
id=$(sed -n "${line}p" "$group.ids")
[ -n "$id" ] && [ ! -e "../../jobs/$id/gone" ] || exit 71 # it was looked for, and not found
# Where the answer to its submission was lost, Slurm may have forgotten the job before it is looked for.
[ -s "$group.id" ] || { echo "${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}" >"$group.id.$line" && mv "$group.id.$line" "$group.id"; }
cd "../../jobs/$id/work" || exit 71
exec </dev/null >>../log 2>&1
outcome=../outcome
leave() { exit "$1"; }
begin
. ../words.sh
run_job
