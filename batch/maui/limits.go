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

// credentials lists those of a job that are set.
func (r *run) credentials(j *job) []owner {
	list := make([]owner, 0, ownerKinds)
	for kind, name := range [ownerKinds]string{j.User, j.Group, j.Account, j.Class, j.qosName} {
		if name != "" {
			list = append(list, owner{kind, name})
		}
	}
	return list
}

func (c *Config) of(kind int) Credentials {
	return [ownerKinds]Credentials{c.Users, c.Groups, c.Accounts, c.Classes, c.QOS}[kind]
}

// consumption is what a job counts for; of a running one the wall time that is
// left.
func (r *run) consumption(j *job) consumed {
	time := j.limit
	if j.State == JobRunning {
		time = max(0, j.Started+j.limit-r.now)
	}
	return consumed{1, j.procs, j.Nodes, j.procs * time, int64(r.equivalents(j)), time}
}

// equivalents are the processor equivalents of a job: the largest share of any
// resource of the cluster, times its processors.
func (r *run) equivalents(j *job) float64 {
	have := r.have
	if have.procs == 0 {
		return 0
	}
	share := float64(j.each.procs) / float64(have.procs)
	for _, p := range [...][2]int64{{j.each.mem, have.mem}, {j.each.disk, have.disk}, {j.each.swap, have.swap}} {
		if p[0] > 0 && p[1] > 0 {
			share = max(share, float64(p[0])/float64(p[1]))
		}
	}
	return float64(j.Tasks) * share * float64(have.procs)
}

// usage counts the running jobs.
func (r *run) usage() usages {
	u := usages{}
	for _, j := range r.jobs {
		if j.State == JobRunning {
			u.add(r.credentials(j), r.consumption(j), 1)
		}
	}
	return u
}

// within tells whether a job may start (or wait) by the throttling policies.
func (r *run) within(j *job, hard bool, which int) bool {
	if !r.throttles() && r.system(j) {
		return true
	}
	need := r.consumption(j)
	for _, o := range r.credentials(j) {
		of := r.Config.of(o.kind)
		own, base := of.find(o.name), of.find("DEFAULT")
		if which&limitsActive != 0 && !below(need, r.active[o], hard, &j.qos.Override, &own.Active, &base.Active) {
			return false
		}
		if which&limitsIdle != 0 && !below(need, r.idle[o], hard, &own.Idle, &base.Idle) {
			return false
		}
	}
	return which&limitsSystem == 0 || r.system(j)
}

// throttles tells whether any limit is configured.
func (r *run) throttles() bool {
	for kind := range ownerKinds {
		for _, c := range r.Config.of(kind) {
			if c.Active != (Limits{}) || c.Idle != (Limits{}) || c.Override != (Limits{}) {
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
func (r *run) system(j *job) bool {
	c := r.Config
	return (c.MaxJobProcs == 0 || j.procs <= c.MaxJobProcs) && (c.MaxJobTime == 0 || j.Limit <= c.MaxJobTime) &&
		(c.MaxJobPS == 0 || j.procs*j.Limit <= c.MaxJobPS)
}

// selectAll lists the jobs that the policies let wait for a start, in order of
// priority.
func (r *run) selectAll(hard bool) (list []*job) {
	r.idle = usages{}
	full := r.Config.Accrual == "FULLPOLICY"
	for _, j := range r.jobs {
		if j.State != JobIdle && j.State != JobSuspended {
			continue
		}
		switch {
		case j.State == JobIdle && (j.deferred > r.now || j.held != ""),
			r.Config.Weights.RejectNegative && j.priority < 0:
			if full {
				j.since = r.now
			}
			r.release(j)
		case max(j.Begin, j.earliest) > r.now:
			r.release(j)
		case j.procs > r.procs:
			r.deferJob(j)
		case !j.wanted && !r.within(j, hard, limitsActive|limitsIdle|limitsSystem): // who has a reservation waits by right
			if hard && r.Config.Accrual != "ALWAYS" {
				j.since = r.now
			}
		default:
			r.idle.add(r.credentials(j), r.consumption(j), 1)
			list = append(list, j)
		}
	}
	return list
}

// selection says which jobs of a list are looked at.
type selection struct {
	hard  bool
	whole bool  // for the whole cluster and any time: a job that violates a policy loses its reservation
	home  bool  // only jobs whose first partition this is
	part  *part // nil: any
	procs int64 // of the window, where not whole
	span  int64
}

// selectJobs lists the jobs that may start now by policy, partition and size.
func (r *run) selectJobs(from []*job, by selection) (list []*job) {
	for _, j := range from {
		if j.State != JobIdle && j.State != JobSuspended || j.deferred > r.now {
			continue
		}
		if p := by.part; p != nil && (!j.mayUse(p) || j.procs > p.procs || by.home && p.name != "DEFAULT") {
			continue
		}
		if !by.whole && (j.procs > by.procs || j.Limit > by.span) {
			continue
		}
		if !r.within(j, by.hard, limitsActive) || r.capped(j) {
			if by.whole {
				r.release(j)
			}
			continue
		}
		list = append(list, j)
	}
	return list
}

// mayUse tells whether a job may run in a partition.
func (j *job) mayUse(p *part) bool {
	return len(j.Partitions) == 0 || slices.Contains(j.Partitions, p.name)
}
