package cli

import (
	"slices"
	"strings"
)

// elsewhere is the verb for what other programs call by this name; "": none.
func elsewhere(word string) string {
	suite := false
	for _, prefix := range []string{"glite-wms-job-", "glite-wms-", "wms-job-", "glite-ce-job-", "glite-ce-", "glite-job-", "edg-job-", "dirac-wms-job-", "dirac-wms-", "dirac-"} {
		if rest, is := strings.CutPrefix(word, prefix); is {
			word, suite = rest, true
			break
		}
	}
	for _, verb := range []struct {
		here  string
		there []string
	}{
		{"submit", []string{"sub", "sbatch", "qsub", "condor_submit", "condor_submit_dag", "arcsub", "bsub", "oarsub", "dsub", "llsubmit"}},
		{"submit --dry-run", []string{"plan"}},
		{"run", []string{"srun", "exec"}},
		{"match", []string{"list-match"}},
		{"resources", []string{"sites", "ces", "queues", "infosites", "sinfo", "arcinfo", "condor_status", "bqueues", "bhosts", "lcg-infosites", "lcg-info", "service-info"}},
		{"status", []string{"stat", "arcstat"}},
		{"list --all", []string{"condor_history", "sacct", "bhist", "bacct"}},
		{"list", []string{"ls", "ps", "q", "queue", "jobs", "squeue", "qstat", "condor_q", "bjobs", "oarstat", "dstat", "llq"}},
		{"show", []string{"describe", "info", "attributes", "parameters", "scontrol"}},
		{"why", []string{"analyze", "explain", "reason"}},
		{"log", []string{"history", "logging-info", "logging", "dlogging"}},
		{"cat", []string{"peek", "logs", "tail", "head", "less", "arccat", "perusal", "condor_tail", "bpeek", "qpeek"}},
		{"watch", []string{"wait", "condor_wait"}},
		{"output", []string{"get", "download", "fetch", "results", "get-output", "condor_transfer_data", "arcget", "doutput", "job-output"}},
		{"cancel", []string{"kill", "stop", "abort", "rm", "qdel", "scancel", "condor_rm", "arckill", "bkill", "oardel", "dkill", "llcancel"}},
		{"hold", []string{"pause", "suspend", "qhold", "condor_hold", "bstop"}},
		{"release", []string{"unhold", "continue", "qrls", "condor_release", "bresume"}},
		{"clean", []string{"delete", "remove", "purge", "arcclean"}},
		{"resubmit", []string{"retry", "rerun", "reschedule", "arcresub"}},
		{"restart", []string{"resume", "arcresume"}},
		{"refresh", []string{"renew", "arcrenew"}},
		{"adopt", []string{"sync", "arcsync"}},
		{"probe", []string{"test", "arctest"}},
		{"auth proxy", []string{"proxy", "proxy-init", "arcproxy", "voms-proxy-init", "grid-proxy-init"}},
		{"auth status", []string{"proxy-info", "voms-proxy-info", "grid-proxy-info", "whoami"}},
		{"auth doctor", []string{"doctor", "diagnose"}},
		{"auth login", []string{"login"}},
		{"jdl convert", []string{"convert"}},
		{"jdl check", []string{"check", "lint", "validate"}},
		{"--version", []string{"version"}},
	} {
		if slices.Contains(verb.there, word) || suite && verb.here == word {
			return verb.here
		}
	}
	return ""
}

// flagElsewhere says what to do instead of a flag that a verb has not and other
// programs have; "": nothing is known.
func flagElsewhere(verb, flag string) string {
	for _, h := range habits(verb) {
		about := h.verbs
		if about == nil {
			about = []string{"status", "list", "show", "why", "log", "output", "cancel", "hold", "release", "clean", "resubmit", "restart", "refresh", "watch"}
		}
		if slices.Contains(about, verb) && slices.Contains(h.flags, flag) {
			return h.hint
		}
	}
	return ""
}

// habit is what to do instead of some flags of other programs.
type habit struct {
	verbs []string // none: those about jobs
	flags []string
	hint  string
}

// habits are those of the programs that people come from; verb is the one that was typed.
func habits(verb string) []habit {
	return []habit{
		{[]string{"submit", "match"}, []string{"a"}, "leave it out: a credential is delegated to each resource that wants one"},
		{[]string{"submit", "match"}, []string{"d"}, "-v and -vv tell more; a credential is delegated without a flag to each resource that wants one"},
		{nil, []string{"d", "debug"}, "-v and -vv tell more"},
		{[]string{"submit", "match"}, []string{"e", "jobdescrstring"}, "a description is a file, or comes on standard input by -: grid " + verb + " -"},
		{[]string{"submit", "match"}, []string{"r"}, "name the resource by --site"},
		{[]string{"submit", "match"}, []string{"c", "C", "cluster", "computing-element"}, "name a resource by --site, or where to look by --info"},
		{[]string{"submit"}, []string{"o", "joblist", "j", "f", "jobids-to-file"}, "the ids are printed: send them to a file by > FILE"},
		{[]string{"submit", "match"}, []string{"p", "q", "partition", "queue"}, "the queue is Queue in the description, or --site"},
		{[]string{"submit"}, []string{"batch-name"}, "batch_name in the submit file, JobName in JDL"},
		{[]string{"submit"}, []string{"S", "submissioninterface", "T", "submission-endpoint-type", "direct"}, "leave it out: each resource is spoken to in its own way"},
		{[]string{"submit", "match"}, []string{"x", "dumpdescription"}, "grid jdl convert --to adl FILE"},
		{[]string{"output"}, []string{"k", "keep"}, "leave it out: what a job left stays at its site until grid clean"},
		{[]string{"submit"}, []string{"append"}, "write it into the description"},
		{[]string{"submit", "status", "list"}, []string{"constraint"}, "jobs are chosen by --where EXPRESSION, resources by Requirements in the description"},
		{[]string{"list", "status"}, []string{"analyze", "better-analyze"}, "grid why ID"},
		{[]string{"submit"}, []string{"array"}, "a description makes many jobs by Parameters, or by queue N of a submit file"},
		{[]string{"run"}, []string{"e"}, "--env NAME=VALUE"},
		{[]string{"run"}, []string{"c", "ntasks", "cpus-per-task"}, "--cpus N"},
		{[]string{"run"}, []string{"t", "walltime"}, "--time LENGTH"},
		{[]string{"run"}, []string{"G", "gpus", "gres"}, "--gpu N"},
		{[]string{"run"}, []string{"p", "q", "w", "partition", "queue", "nodelist"}, "name the resource by --site"},
		{[]string{"run"}, []string{"i", "input"}, "--stdin FILE"},
		{[]string{"run"}, []string{"o", "output"}, "what the command prints comes here: send it to a file by > FILE; other files are brought by --out FILE"},
		{[]string{"list", "status"}, []string{"u", "user"}, "all jobs are your own"},
		{[]string{"list", "status"}, []string{"w", "wait", "follow"}, "grid watch"},
		{[]string{"proxy"}, []string{"c", "constraint", "hours", "vomslife"}, "--valid TIME is how long it lives, --voms-valid TIME its attributes"},
		{[]string{"proxy"}, []string{"S", "vomses", "m"}, "--voms VO"},
		{[]string{"proxy"}, []string{"I", "info", "i", "infoitem", "all", "timeleft"}, "grid auth status"},
		{[]string{"list", "status"}, []string{"n"}, "--limit"},
		{[]string{"list", "status"}, []string{"l", "long"}, "-o wide; grid show ID tells all of a job"},
		{[]string{"resources"}, []string{"l", "long"}, "-o wide"},
		{[]string{"list", "status"}, []string{"g"}, "--group NAME: the JobName of a collection, sweep or DAG, or the name of its file"},
		{[]string{"submit"}, []string{"dag", "collection"}, "the description says what it is: Type = \"dag\", or a .dag file"},
		{[]string{"list", "status"}, []string{"t", "s", "status"}, "--state STATE"},
		{[]string{"list", "status"}, []string{"S", "r", "rsort"}, "--sort COLUMN, --sort -COLUMN"},
		{[]string{"output"}, []string{"D", "d", "o"}, "name the directory by --dir"},
		{[]string{"resources"}, []string{"c", "C", "h"}, "name where to look by --info"},
		{nil, []string{"i", "joblist"}, "ids are read from standard input by -: grid " + verb + " - < FILE"},
		{nil, []string{"j", "jobid"}, "ids stand without a flag: grid " + verb + " ID"},
		{nil, []string{"c", "cluster"}, "choose jobs by where they are with --at"},
		{[]string{"log"}, []string{"f", "follow"}, "grid watch shows what happens, grid cat -f ID what a job prints"},
		{[]string{"submit", "match"}, []string{"n", "N", "t", "l", "R", "W", "M", "nodes", "ntasks", "time", "mem", "mem-per-cpu", "cpus", "cpus-per-task", "gpus", "gres", "walltime"},
			"the description says what the job asks for; grid run --time, --mem, --cpus and --gpu are for a command without one"},
		{[]string{"run"}, []string{"mem-per-cpu"}, "--mem SIZE, which is of each slot"},
		{nil, []string{"f", "F", "force", "noint"}, "--yes answers questions"},
	}
}
