package slurm

import (
	"context"
	"slices"
	"strings"
	"time"

	"gridbroker/batch"
)

// caps are how much the jobs of a QOS or an association may have at once.
type caps struct {
	qos   map[string]allowance // by name
	first map[string]bool      // QOS that go before those of partitions (OverPartQOS)
	// Of accounts, and of a user in an account, in all partitions or in one, by userIn.
	accounts, users map[string]allowance
	parents         map[string]string // of accounts
	// What running jobs still have to run is counted anew every so long, from some time on.
	every time.Duration
	since time.Time
}

// allowance is how much there is of what is limited, in the words of turns: "qos cpus", "qos and user jobs".
type allowance map[string]int

// mostParents bounds how many accounts lie above each other.
const mostParents = 32

// capScopes are whose jobs are counted, with the names that sacctmgr has for their limits.
var capScopes = [...]struct{ scope, tres, jobs, seconds string }{{"qos", "GrpTRES", "GrpJobs", "GrpTRESRunMins"},
	{"qos and user", "MaxTRESPU", "MaxJobsPU", "MaxTRESRunMinsPU"}, {"qos and account", "MaxTRESPA", "MaxJobsPA", "MaxTRESRunMinsPA"}}

// associationFields are asked for of associations.
const associationFields = "Account,User,Partition,ParentName,GrpTRES,GrpJobs,MaxJobs,GrpTRESRunMins"

// capsOf asks accounting for the limits of QOS and associations, where Slurm keeps to them (slurm.conf(5), AccountingStorageEnforce);
// nil: it does not, or accounting tells none.
func capsOf(ctx context.Context, ask func(context.Context, ...string) (string, error), c settings) *caps {
	if !slices.ContainsFunc(list(c["AccountingStorageEnforce"]), func(word string) bool { return word == "limits" || word == "safe" || word == "all" }) {
		return nil
	}
	all := &caps{qos: map[string]allowance{}, first: map[string]bool{}, accounts: map[string]allowance{}, users: map[string]allowance{}, parents: map[string]string{}}
	if c["PriorityType"] == "priority/multifactor" { // no other counts it
		all.every, _ = duration(c["PriorityCalcPeriod"])
		all.since = unix(c["BOOT_TIME"])
	}
	format, seconds := "Name", ""
	for _, s := range capScopes {
		format += "," + s.tres + "," + s.jobs
		seconds += "," + s.seconds
	}
	if text, err := ask(ctx, "sacctmgr", "--noheader", "--parsable2", "show", "qos", "format="+format+",Flags"+seconds); err == nil {
		all.readQOS(text)
	}
	if text, err := ask(ctx, "sacctmgr", "--noheader", "--parsable2", "show", "assoc", "where", "cluster="+c["ClusterName"], "format="+associationFields); err == nil {
		all.readAssociations(text)
	}
	return all
}

// readQOS takes in what sacctmgr says of QOS.
func (c *caps) readQOS(text string) {
	const flags = 1 + 2*len(capScopes)
	for _, f := range rows(text, "|", flags+1+len(capScopes)) {
		of := allowance{}
		for i, s := range capScopes {
			of.tres(s.scope, f[1+2*i])
			of.jobs(s.scope, f[2+2*i])
			of.minutes(s.scope, f[flags+1+i])
		}
		if len(of) > 0 {
			c.qos[f[0]] = of
		}
		if slices.Contains(list(f[flags]), "OverPartQOS") {
			c.first[f[0]] = true
		}
	}
}

// readAssociations takes in what sacctmgr says of associations. The greatest number of jobs at once is that of each
// user; those of accounts are told with their users, who have inherited them.
func (c *caps) readAssociations(text string) {
	for _, f := range rows(text, "|", 8) {
		of := allowance{}
		if f[1] == "" {
			c.parents[f[0]] = f[3]
			of.tres("account", f[4])
			of.jobs("account", f[5])
			of.minutes("account", f[7])
			c.accounts[f[0]] = of
			continue
		}
		of.tres("account and user", f[4])
		of.jobs("account and user", f[5])
		of.jobs("account and user", f[6])
		of.minutes("account and user", f[7])
		c.users[userIn(f[0], f[1], f[2])] = of
	}
}

// userIn is what is counted in the association of a user with an account, in one partition or, where that is "", in all.
func userIn(account, user, partition string) string {
	return strings.TrimSuffix(account+" "+user+" "+partition, " ")
}

// tres reads a list of TRES: "cpu=12,gres/gpu=2,mem=100G,node=4".
func (a allowance) tres(scope, tres string) {
	for pair := range strings.SplitSeq(tres, ",") {
		switch name, value, _ := strings.Cut(pair, "="); name {
		case "cpu":
			a[scope+" cpus"] = atoi(value)
		case "node":
			a[scope+" nodes"] = atoi(value)
		case "gres/gpu":
			a[scope+" gpus"] = atoi(value)
		case "mem":
			if mb, _, ok := megabytes(value); ok {
				a[scope+" memory"] = int(mb)
			}
		}
	}
}

// minutes reads how many minutes of what they have running jobs may have before them, in a list of TRES: "cpu=1000". It is counted in
// seconds, of which Slurm sees whole minutes.
func (a allowance) minutes(scope, tres string) {
	of := allowance{}
	of.tres(scope, tres)
	for what, n := range of {
		a[what+secondsOf] = n*60 + 59
	}
}

// secondsOf ends the names of limits on what running jobs still have to run.
const secondsOf = " seconds"

// jobs reads a number of jobs; of two the lesser counts.
func (a allowance) jobs(scope, n string) {
	if n == "" {
		return
	}
	most := atoi(n)
	if before, ok := a[scope+" jobs"]; ok {
		most = min(most, before)
	}
	a[scope+" jobs"] = most
}

// claim is what a job has, or would have, of what is limited.
type claim struct {
	what         string // the limit: "qos cpus big"
	amount, most int
	rate         int  // by which the amount becomes less each second
	binds        bool // it keeps the job from starting; where it does not the job counts all the same
}

// claims are those of a job, in a partition of that QOS ("": of none). Of the limits of one kind that of the partition's QOS binds, else that of
// the job's, else those of its associations (Slurm's resource limits, "hierarchical").
func (c *caps) claims(j *batch.Job, partition string) (all []claim) {
	if c == nil {
		return nil
	}
	amounts, bound := amountsOf(j), map[string]bool{}
	take := func(of allowance, scope, holder string) {
		for _, a := range amounts {
			kind := scope + " " + a.kind
			if most, ok := of[kind]; ok && a.amount > 0 {
				all = append(all, claim{what: kind + " " + holder, amount: a.amount, most: most, binds: !bound[kind] && !overruled(bound, kind)})
			}
			if most, ok := of[kind+secondsOf]; ok && a.amount > 0 {
				all = append(all, claim{kind + secondsOf + " " + holder, a.amount * int(j.Requested/time.Second), most, a.amount, !bound[kind+secondsOf] && !overruled(bound, kind+secondsOf)})
			}
		}
	}
	for _, name := range c.inOrder(j.QOS, partition) {
		of := c.qos[name]
		take(of, "qos", name)
		take(of, "qos and user", name+" "+j.User)
		take(of, "qos and account", name+" "+j.Account)
		for kind := range of {
			bound[kind] = true
		}
	}
	who := userIn(j.Account, j.User, j.Queue)
	if c.users[who] == nil {
		who = userIn(j.Account, j.User, "")
	}
	take(c.users[who], "account and user", who)
	for account, n := j.Account, 0; account != "" && n < mostParents; account, n = c.parents[account], n+1 {
		take(c.accounts[account], "account", account)
	}
	return all
}

// hiddenBy are the limits of QOS where which are set those of associations do not bind.
var hiddenBy = map[string]string{"account and user jobs": "qos and user jobs", "account jobs": "qos jobs", "account cpus": "qos cpus", "account nodes": "qos nodes",
	"account gpus": "qos gpus", "account memory": "qos memory", "account and user cpus": "qos cpus", "account and user nodes": "qos nodes",
	"account and user gpus": "qos gpus", "account and user memory": "qos memory"}

// overruled tells whether a limit of an association does not bind as one of a QOS does.
func overruled(bound map[string]bool, kind string) bool {
	plain, seconds := strings.CutSuffix(kind, secondsOf)
	by := hiddenBy[plain]
	if seconds {
		return by != "" && bound[by+secondsOf]
	}
	return bound[by]
}

// inOrder are the QOS whose limits a job has, the first before the second.
func (c *caps) inOrder(own, partition string) []string {
	switch {
	case partition == "" || partition == own:
		return []string{own}
	case c.first[own]:
		return []string{own, partition}
	}
	return []string{partition, own}
}
