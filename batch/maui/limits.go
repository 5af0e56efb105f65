package maui

import "slices"

// Which limits a check looks at.
const (
	limitsActive = 1 << iota
	limitsIdle
	limitsSystem
)

// consumed is a consumption by the quantities that are limited.
type consumed [limitKinds]int64

// owner is a credential: the kind (user, group, account, class, QOS) and the name.
type owner struct {
	kind int
	name string
}

const (
	ownerUser = iota
	ownerGroup
	ownerAccount
	ownerClass
	ownerQOS
	ownerKinds
)

// usages is what the jobs of each credential use.
type usages map[owner]*consumed

func (u usages) add(owners []owner, a consumed, sign int64) {
	for _, o := range owners {
		of := u[o]
		if of == nil {
			of = &consumed{}
			u[o] = of
		}
		for k := range a {
			of[k] += sign * a[k]
		}
	}
}

func (c *Config) of(kind int) Credentials {
	return [ownerKinds]Credentials{c.Users, c.Groups, c.Accounts, c.Classes, c.QOS}[kind]
}

// limits are the throttling policies and what counts towards them.
type limits struct {
	*cluster
	active, idle usages
	any          bool // a limit is configured
}

// newLimits has counted nothing yet.
func newLimits(c *cluster) *limits { return &limits{cluster: c, any: throttles(c.Config)} }

// consumption is what a job counts for; of a running one the wall time that is
// left.
func (r *limits) consumption(j *job) consumed {
	time := j.limit
	if j.State == JobRunning {
		time = max(0, j.Started+j.limit-r.now)
	}
	return consumed{1, j.procs, j.Nodes, j.procs * time, int64(r.equivalents(j)), time}
}

// usage counts the running jobs.
func (r *limits) usage() usages {
	u := usages{}
	for _, j := range r.jobs {
		if j.State == JobRunning {
			u.add(r.credentials(j), r.consumption(j), 1)
		}
	}
	return u
}

// within tells whether a job may start (or wait) by the throttling policies.
func (r *limits) within(j *job, hard bool, which int) bool {
	if !r.any && r.system(j) {
		return true
	}
	need := r.consumption(j)
	for _, o := range r.credentials(j) {
		of := r.Config.of(o.kind)
		own, base := of.find(o.name), of.find("DEFAULT")
		if which&limitsActive != 0 && !below(need, r.active[o], hard, &j.qos.Override, &own.Active, &base.Active) {
			return false
		}
		if which&limitsIdle != 0 && !below(need, r.idle[o], hard, &j.qos.OverIdle, &own.Idle, &base.Idle) {
			return false
		}
	}
	return which&limitsSystem == 0 || r.system(j)
}

// throttles tells whether any limit is configured.
func throttles(c *Config) bool {
	for kind := range ownerKinds {
		for _, c := range c.of(kind) {
			if c.Active != (Limits{}) || c.Idle != (Limits{}) || c.Override != (Limits{}) || c.OverIdle != (Limits{}) {
				return true
			}
		}
	}
	return false
}

// below compares with the limits: of each quantity the first list that names
// one counts.
func below(need consumed, used *consumed, hard bool, limits ...*Limits) bool {
	for k := range need {
		at := slices.IndexFunc(limits, func(l *Limits) bool { return l.Hard[k] != 0 })
		if at < 0 {
			continue
		}
		most, total := limits[at].Soft[k], need[k]
		if hard {
			most = limits[at].Hard[k]
		}
		if used != nil {
			total += used[k]
		}
		if most > 0 && total > most {
			return false
		}
	}
	return true
}

// system tells whether a single job is within the system's limits.
func (r *limits) system(j *job) bool {
	c := r.Config
	within := func(x, most int64, flag string) bool {
		return most <= 0 || x <= most || j.qos.ignores(flag, "IGNSYSTEM", "IGNALL")
	}
	return within(j.procs, c.MaxJobProcs, "IGNMAXPROC") && within(j.Limit, c.MaxJobTime, "IGNMAXTIME") &&
		within(j.procs*j.Limit, c.MaxJobPS, "IGNMAXPS")
}
