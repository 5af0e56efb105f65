package maui

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// highest is the greatest priority of a job without setspri.
const highest = 1e9

// Priority is the priority of a waiting job and what its components
// contribute, weights applied.
type Priority struct {
	Job                       string
	Priority                  int64
	Serv, Targ, Cred, FS, Res float64
	System                    bool // setspri decides
}

// Priorities are those of the latest iteration, the highest first.
func (s *Scheduler) Priorities() []Priority { return slices.Clone(s.priorities) }

// ranking works out priorities.
type ranking struct {
	*cluster
	*limits
}

// prioritize works out all priorities and sorts the jobs: whole numbers,
// higher first, equal ones in the order in which they were first seen.
func (r *ranking) prioritize() {
	r.priorities = r.priorities[:0]
	for _, j := range r.jobs {
		p := r.priority(j)
		if j.priority = p.Priority; j.State == JobIdle {
			r.priorities = append(r.priorities, p)
		}
	}
	slices.SortStableFunc(r.jobs, func(a, b *job) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.order, b.order))
	})
	slices.SortStableFunc(r.priorities, func(a, b Priority) int { return cmp.Compare(b.Priority, a.Priority) })
}

// priority is the priority of one job (administrator's guide 5.1.2).
func (r *ranking) priority(j *job) Priority {
	w := &r.Config.Weights
	p := Priority{
		Job: j.ID, Serv: w.Serv * w.most("SERV", r.service(j)), Targ: w.Targ * w.most("TARG", r.targets(j)),
		Cred: w.Cred * w.most("CRED", r.credential(j)), FS: w.FS * w.most("FS", r.shares(j)), Res: w.Res * w.most("RES", r.resources(j)),
	}
	sum := p.Serv + p.Targ + p.Cred + p.FS + p.Res
	if !w.Negative && !w.RejectNegative {
		sum = max(sum, 1)
	}
	sum = min(sum, highest)
	if j.SystemPriority > highest {
		sum, p.System = sum+float64(j.SystemPriority-2*highest), true
	} else if j.SystemPriority > 0 {
		sum, p.System = float64(highest+j.SystemPriority), true
	}
	p.Priority = int64(sum)
	return p
}

// value is a subcomponent: capped, then weighted.
func (w *Weights) value(name string, x, more float64) float64 {
	return w.most(name, x) * (w.Sub[name] + more)
}

// most caps a component or a subcomponent.
func (w *Weights) most(name string, x float64) float64 {
	if most := w.Caps[name]; most > 0 {
		return min(x, most)
	}
	return x
}

// service: queue time in minutes, expansion factor, times overtaken.
func (r *ranking) service(j *job) float64 {
	w := &r.Config.Weights
	sum := w.value("QUEUETIME", max(0, float64(r.now-j.since)/60), j.qos.QueueTime) +
		w.value("XFACTOR", r.expansion(j), j.qos.XFactor) + w.value("BYPASS", float64(j.bypass), 0)
	if w.Sub["SPVIOLATION"] != 0 && j.State == JobRunning && !r.within(j, false, limitsActive) {
		sum += w.value("SPVIOLATION", 1, 0)
	}
	return sum
}

// expansion is (wait + limit) / limit.
func (r *ranking) expansion(j *job) float64 {
	return float64(max(0, r.now-j.since)+j.Limit) / float64(max(j.Limit, r.Config.Weights.XFMinLimit, 1))
}

// targets grow as a QOS's target draws near, until nothing but this is left. The
// queue time that Maui 3.3.1 compares with its target is the time of day since
// when the job waits, so that a target once set counts as reached at once.
func (r *ranking) targets(j *job) float64 {
	const nearest = .0001
	w, sum := &r.Config.Weights, 0.0
	if j.qos.QTTarget > 0 {
		sum += w.value("TARGETQUEUETIME", math.Pow(nearest, -2), 0)
	}
	if t := j.qos.XFTarget; t > 0 {
		sum += w.value("TARGETXFACTOR", math.Pow(max(nearest, t-r.expansion(j)), -2), 0)
	}
	return sum
}

// credential: what is configured of user, group, account, QOS and class.
func (r *ranking) credential(j *job) float64 {
	w, c, sum := &r.Config.Weights, r.Config, 0.0
	for _, of := range []struct {
		name, owner string
		creds       Credentials
	}{
		{"USER", j.User, c.Users}, {"GROUP", j.Group, c.Groups}, {"ACCOUNT", j.Account, c.Accounts}, {"CLASS", j.Class, c.Classes},
	} {
		sum += w.value(of.name, cmp.Or(of.creds.find(of.owner).Priority, of.creds.find("DEFAULT").Priority), 0)
	}
	return sum + w.value("QOS", j.qos.Priority, 0)
}

// resources: what the job asks for.
func (r *ranking) resources(j *job) float64 {
	w, sum := &r.Config.Weights, 0.0
	for _, of := range [...]struct { // always in the same order: sums of fractions depend on it
		name   string
		amount int64
	}{
		{"NODE", j.Nodes}, {"PROC", j.Tasks * j.each.procs}, {"MEM", j.Tasks * j.each.mem}, {"SWAP", j.Tasks * j.each.swap},
		{"DISK", j.Tasks * j.each.disk}, {"PS", j.Tasks * j.each.procs * j.Limit}, {"WALLTIME", j.Limit},
	} {
		if w.Sub[of.name] != 0 {
			sum += w.value(of.name, float64(of.amount), 0)
		}
	}
	if uses := r.active[owner{ownerUser, j.User}]; uses != nil {
		sum += w.value("UPROC", float64(uses[limitProcs]), 0) + w.value("UJOB", float64(uses[limitJobs]), 0)
	}
	if w.Sub["PE"] != 0 {
		sum += w.value("PE", r.equivalents(j), 0)
	}
	return sum
}

// shares is the fair share component: target less usage, in percent.
func (r *ranking) shares(j *job) (sum float64) {
	w := &r.Config.Weights
	for _, o := range r.credentials(j) {
		used, ok := r.percent(o)
		of := r.Config.of(o.kind)
		cred := of.find(o.name)
		if cred.Target <= 0 {
			cred = of.find("DEFAULT")
		}
		if !ok || cred.Target <= 0 {
			continue
		}
		x := cred.Target - used
		if strings.HasSuffix(r.Config.FairShare.Policy, "%") {
			x = 1 - used/cred.Target
		}
		switch cred.TargetMode {
		case '-':
			x = min(x, 0)
		case '+':
			x = max(x, 0)
		case '^', '%':
			x = 0
		}
		sum += w.value([ownerKinds]string{"FSUSER", "FSGROUP", "FSACCOUNT", "FSCLASS", "FSQOS"}[o.kind], x, 0)
	}
	return sum
}
