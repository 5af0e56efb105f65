package cli

import "slices"

// elsewhere is the verb for what other programs call by this name; "": none.
func elsewhere(word string) string {
	for _, verb := range []struct {
		here  string
		there []string
	}{
		{"submit", []string{"sub", "sbatch", "qsub", "condor_submit", "arcsub"}},
		{"run", []string{"srun", "exec"}},
		{"match", []string{"list-match"}},
		{"resources", []string{"sites", "ces", "queues", "infosites", "sinfo", "arcinfo", "condor_status"}},
		{"status", []string{"stat", "arcstat"}},
		{"list", []string{"ls", "ps", "q", "queue", "jobs", "squeue", "qstat", "condor_q"}},
		{"show", []string{"describe", "info"}},
		{"log", []string{"logs", "history", "logging-info"}},
		{"cat", []string{"peek", "tail", "head", "less", "arccat", "perusal"}},
		{"watch", []string{"wait", "condor_wait"}},
		{"output", []string{"get", "download", "fetch", "results", "arcget"}},
		{"cancel", []string{"kill", "stop", "abort", "rm", "qdel", "scancel", "condor_rm", "arckill"}},
		{"clean", []string{"delete", "remove", "purge", "arcclean"}},
		{"resubmit", []string{"retry", "rerun", "reschedule", "arcresub"}},
		{"restart", []string{"resume", "arcresume"}},
		{"refresh", []string{"renew", "arcrenew"}},
		{"adopt", []string{"sync", "arcsync"}},
		{"probe", []string{"test", "arctest"}},
		{"auth proxy", []string{"proxy", "proxy-init", "arcproxy", "voms-proxy-init"}},
		{"auth login", []string{"login"}},
		{"jdl convert", []string{"convert"}},
	} {
		if slices.Contains(verb.there, word) {
			return verb.here
		}
	}
	return ""
}
