package slurm

import (
	"context"
	"maps"
	"slices"
	"strings"

	"gridbroker/batch"
)

// caps are how much the jobs of a QOS may have at once, by its name and by what is limited, in the words
// of turns: "qos cpus", "qos and user jobs".
type caps map[string]map[string]int

// capScopes are whose jobs are counted, with the names that sacctmgr has for their limits.
var capScopes = [...]struct{ scope, tres, jobs string }{{"qos", "GrpTRES", "GrpJobs"}, {"qos and user", "MaxTRESPU", "MaxJobsPU"}, {"qos and account", "MaxTRESPA", "MaxJobsPA"}}

// capsOf asks accounting for the limits of QOS, where Slurm keeps to them (slurm.conf(5), AccountingStorageEnforce);
// nil: it does not, or accounting tells none.
func capsOf(ctx context.Context, ask func(context.Context, ...string) (string, error), c settings) caps {
	if !slices.ContainsFunc(list(c["AccountingStorageEnforce"]), func(word string) bool { return word == "limits" || word == "safe" || word == "all" }) {
		return nil
	}
	format := "Name"
	for _, s := range capScopes {
		format += "," + s.tres + "," + s.jobs
	}
	text, err := ask(ctx, "sacctmgr", "--noheader", "--parsable2", "show", "qos", "format="+format)
	if err != nil {
		return nil
	}
	all := caps{}
	for _, f := range rows(text, "|", 1+2*len(capScopes)) {
		of := map[string]int{}
		for i, s := range capScopes {
			maps.Copy(of, capped(s.scope, f[1+2*i]))
			if f[2+2*i] != "" {
				of[s.scope+" jobs"] = atoi(f[2+2*i])
			}
		}
		if len(of) > 0 {
			all[f[0]] = of
		}
	}
	return all
}

// capped reads a list of TRES: "cpu=12,gres/gpu=2,mem=100G,node=4".
func capped(scope, tres string) map[string]int {
	of := map[string]int{}
	for pair := range strings.SplitSeq(tres, ",") {
		switch name, value, _ := strings.Cut(pair, "="); name {
		case "cpu":
			of[scope+" cpus"] = atoi(value)
		case "node":
			of[scope+" nodes"] = atoi(value)
		case "gres/gpu":
			of[scope+" gpus"] = atoi(value)
		case "mem":
			if mb, _, ok := megabytes(value); ok {
				of[scope+" memory"] = int(mb)
			}
		}
	}
	return of
}

// under is what a job takes of all that its QOS limits, and what each may be in all.
func (c caps) under(j *batch.Job, wants map[string]int) map[string]int {
	most := map[string]int{}
	for kind, n := range c[j.QOS] {
		for what := range wants {
			if rest, ok := strings.CutPrefix(what, kind+" "); ok && (rest == j.QOS || rest == j.QOS+" "+j.User || rest == j.QOS+" "+j.Account) {
				most[what] = n
			}
		}
	}
	return most
}
