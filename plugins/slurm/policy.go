package slurm

import (
	"context"
	"slices"
	"strings"
	"time"

	"gridbroker/batch"
	"gridbroker/plugins"
)

var _ plugins.RulesReader = (*Queue)(nil)

// Rules implements plugins.RulesReader: the policy slurm with what "scontrol show
// config" says, and where shares or QOS weigh, their factors from accounting.
func (q *Queue) Rules(ctx context.Context) (plugins.Rules, error) {
	r, c, err := readRules(ctx, q.site.Command)
	if err == nil {
		q.hidden.set(r.Hidden)
		q.set.Store(&set{c.wholeCores(), c.usualMemory(), r.Policy.Slurm.Multifactor.Partition, c.keepsAccounts(), capsOf(ctx, q.site.Command, c), r.Hidden, c.selects("CR_LLN")})
		q.bar(ctx)
	}
	return r, err
}

// readRules asks for the configuration, and accounting for what that leaves to it.
func readRules(ctx context.Context, ask func(context.Context, ...string) (string, error)) (plugins.Rules, settings, error) {
	text, err := ask(ctx, "scontrol", "show", "config")
	if err != nil {
		return plugins.Rules{}, nil, err
	}
	c := config(text)
	r := c.rules()
	if r.Hidden {
		if who, err := rightsOf(ctx, ask); err == nil && who.operator() {
			r.Hidden = false
		}
	}
	f, p := &r.Policy.Slurm.Multifactor, &r.Policy.Slurm.Preemption
	if f.FairShare > 0 {
		text, err := ask(ctx, "sshare", "--all", "--noheader", "--parsable2", "--format=User,FairShare")
		if f.Shares = factors(text, false); err != nil || len(f.Shares) == 0 {
			r.Unmodelled = append(r.Unmodelled, "PriorityWeightFairShare of jobs still to come: sshare tells no shares")
		}
	}
	if f.QOS > 0 {
		text, err := ask(ctx, "sacctmgr", "--noheader", "--parsable2", "show", "qos", "format=Name,Priority")
		if f.QOSFactors = factors(text, true); err != nil || len(f.QOSFactors) == 0 {
			r.Unmodelled = append(r.Unmodelled, "PriorityWeightQOS of jobs still to come: sacctmgr tells no QOS")
		}
	}
	if p.Type == "qos" {
		text, err := ask(ctx, "sacctmgr", "--noheader", "--parsable2", "show", "qos", "format=Name,Priority,Preempt,PreemptMode,GraceTime")
		if p.QOS = preemptQOS(text, c["PreemptMode"]); err != nil || len(p.QOS) == 0 {
			*p = batch.Preemption{}
			r.Unmodelled = append(r.Unmodelled, "PreemptType=preempt/qos: sacctmgr tells no QOS")
		}
	}
	return r, c, nil
}

// settings are the lines of "scontrol show config", by name.
type settings map[string]string

func config(text string) settings {
	c := settings{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, "="); ok && len(c) < maxQueues {
			c[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return c
}

// keepsAccounts tells whether jobs start only in partitions that let their accounts in: where Slurm knows associations, and
// before 24.11 everywhere.
func (c settings) keepsAccounts() bool {
	enforced := list(c["AccountingStorageEnforce"])
	return c.version() < recent || len(enforced) > 0 && !slices.Contains(enforced, "none")
}

// recent is the version from which on Slurm's backfill is taken to do as 24.11's (see
// batch.Slurm.Recent). No version between was looked at, and no entry of Slurm's change
// logs names the rules that differ; what comes nearest is of 24.05.4 and of 24.11.0.
const recent = 24.11

// version is Slurm's, major and minor, as a number; 0: it does not say.
func (c settings) version() float64 {
	parts := strings.SplitN(c["SLURM_VERSION"], ".", 3)
	if len(parts) < 2 {
		return 0
	}
	n, _ := finite(parts[0] + "." + parts[1])
	return n
}

// weight reads a number; 0 where there is none.
func (c settings) weight(key string) float64 {
	n, _ := finite(c[key])
	return max(0, n)
}

// rules are those that the settings tell of.
func (c settings) rules() plugins.Rules {
	r := plugins.Rules{Policy: batch.Policy{Name: "slurm"}}
	s := &r.Policy.Slurm
	s.Builtin = c["SchedulerType"] == "sched/builtin"
	r.Unmodelled = s.Parameters(c["SchedulerParameters"])
	s.Recent = c.version() >= recent
	s.KillInvalid = slices.Contains(list(c["DependencyParameters"]), "kill_invalid_depend")
	if c["PriorityType"] == "priority/multifactor" {
		f := &s.Multifactor
		f.Age, f.FairShare, f.JobSize = c.weight("PriorityWeightAge"), c.weight("PriorityWeightFairShare"), c.weight("PriorityWeightJobSize")
		f.Partition, f.QOS = c.weight("PriorityWeightPartition"), c.weight("PriorityWeightQOS")
		f.FavorSmall = strings.EqualFold(c["PriorityFavorSmall"], "Yes")
		f.AccrueAlways = slices.Contains(list(c["PriorityFlags"]), "ACCRUE_ALWAYS")
		if age, ok := duration(c["PriorityMaxAge"]); ok && age >= time.Second {
			f.MaxAge = age
		}
	}
	if r.Policy.Check() != nil { // an interval of nothing, for one
		r.Unmodelled = append(r.Unmodelled, "SchedulerParameters="+c["SchedulerParameters"])
		r.Policy.Slurm = batch.Slurm{Builtin: s.Builtin, Recent: s.Recent, KillInvalid: s.KillInvalid, Multifactor: s.Multifactor, Preemption: s.Preemption}
	}
	r.Unmodelled = append(r.Unmodelled, c.preemption(&s.Preemption)...)
	r.Unmodelled = append(r.Unmodelled, c.unmodelled()...)
	for what := range strings.SplitSeq(c["PrivateData"], ",") {
		r.Hidden = r.Hidden || what == "jobs"
	}
	return r
}

// unmodelled names other settings that decide starts and are left out.
func (c settings) unmodelled() (list []string) {
	name := func(key string, plain ...string) {
		for _, p := range append(plain, "") {
			if strings.EqualFold(c[key], p) || c[key] == "(null)" {
				return
			}
		}
		list = append(list, key+"="+c[key])
	}
	name("PreemptType", "preempt/none", "preempt/partition_prio", "preempt/qos")
	name("CompleteWait", "0 sec")
	name("PriorityWeightAssoc", "0")
	name("PriorityWeightTRES")
	name("PrioritySiteFactorPlugin", "site_factor/none")
	name("SuspendTime", "INFINITE", "NONE", "-1 sec")
	if !strings.HasPrefix(c["SelectType"], "select/cons_") && c["SelectType"] != "" {
		list = append(list, "SelectType="+c["SelectType"]) // whole nodes
	}
	for word := range strings.SplitSeq(strings.ToUpper(c["SelectTypeParameters"]), ",") {
		switch word {
		case "CR_SOCKET", "CR_SOCKET_MEMORY", "CR_ONE_TASK_PER_CORE", "CR_PACK_NODES":
			list = append(list, "SelectTypeParameters="+word)
		}
	}
	for flag := range strings.SplitSeq(c["PriorityFlags"], ",") {
		switch flag {
		case "SMALL_RELATIVE_TO_TIME", "NO_NORMAL_ALL", "NO_NORMAL_PART", "NO_NORMAL_QOS":
			list = append(list, "PriorityFlags="+flag)
		}
	}
	return list
}

// factors reads lines of a name and a number; relative: to the greatest of them.
func factors(text string, relative bool) map[string]float64 {
	all, most := map[string]float64{}, 1.0
	if relative {
		most = 0
	}
	for _, f := range rows(text, "|", 2) {
		n, ok := finite(f[1])
		if f[0] == "" || !ok || n < 0 {
			continue
		}
		all[f[0]] = max(all[f[0]], n)
		if relative {
			most = max(most, n)
		}
	}
	for name := range all {
		if most > 0 {
			all[name] = min(1, all[name]/most)
		}
	}
	return all
}
