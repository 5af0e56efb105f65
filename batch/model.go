package batch

import (
	"time"
)

// model is a cluster that is followed, as far as what happens next does not
// count: which job stands where, and whether it must be set up anew.
type model struct {
	c        *cluster
	shaped   int            // waiting jobs that ask for more than processors
	homeless bool           // there are running jobs the model has no room for
	stale    bool           // c must be made anew from its state
	index    map[string]int // place in c.state.Jobs by job ID
	limits   agenda         // when running jobs reach their limits; some out of date
}

// adopt sets the model up from a state.
func (l *model) adopt(f *Forecaster, s State) (err error) {
	if l.c, err = newCluster(s, f.Policy, &f.users, false); err != nil {
		return err
	}
	l.stale, l.limits, l.shaped = false, l.limits[:0], 0
	l.homeless = false
	settled := false
	for i := range s.Jobs {
		l.shape(&s.Jobs[i])
		l.watch(i)
		settled = l.settle(i) || settled
	}
	if l.homeless && settled { // who has a place now goes before those that have none
		return l.adopt(f, l.c.state)
	}
	return nil
}

// renew is adopt, for a state whose jobs are at other places.
func (l *model) renew(f *Forecaster, s State) error {
	clear(l.index)
	for i := range s.Jobs {
		l.index[s.Jobs[i].ID] = i
	}
	return l.adopt(f, s)
}

// settle keeps where the model has put a running job of which the cluster does
// not say where it is, and tells whether that is new.
func (l *model) settle(i int) bool {
	j := l.machineJob(i)
	if j == nil || j.state != running || len(l.c.state.Jobs[i].Placed) > 0 {
		return false
	}
	procs := int32(0)
	for _, s := range j.shares {
		procs += s.procs
	}
	if _, byNode := l.c.plan.(*nodePlan); byNode && procs < j.procs {
		l.homeless = true
		return false
	}
	l.c.state.Jobs[i].Placed = l.c.nodes.placed(j.shares)
	return len(j.shares) > 0
}

// tangled tells whether every event may change all of the model.
func (l *model) tangled() bool {
	return len(l.c.state.Reservations)+len(l.c.state.Caps) > 0 || l.homeless || l.c.crowded || l.c.gates.linked()
}

// watch notes when a running job reaches its limit.
func (l *model) watch(i int) {
	if j := l.machineJob(i); j != nil && j.state == running {
		l.limits.push(due{j.start + j.limit, j.seq, l.c.at[i]})
	}
}

// machineJob is the job at a place of the state as the machine has it, or nil.
func (l *model) machineJob(i int) *job {
	if l.c.at[i] < 0 {
		return nil
	}
	return &l.c.jobs[l.c.at[i]]
}

// shape and unshape count the waiting jobs to which it matters which nodes they
// get: without any the model may be simpler.
func (l *model) shape(j *Job) {
	if j.Started.IsZero() && j.placed() {
		l.shaped++
	}
}

func (l *model) unshape(j *Job) {
	if j.Started.IsZero() && j.placed() {
		l.shaped--
		l.stale = l.stale || l.shaped == 0
	}
}

// whole tells whether a job has all its processors on nodes that are up, or
// it is not known where.
func (l *model) whole(placed []Placement, procs int) bool {
	known := 0
	for _, p := range placed {
		if _, up := l.c.nodes.find(p.Node); up {
			known += p.Procs
		}
	}
	return len(placed) == 0 || known == procs
}

// promises are the first forecasts of waiting jobs, where errors are learned.
type promises map[string]promise

// promise is a start foretold, and when it was.
type promise struct{ made, start int64 }

// kept learns how the first forecast of a job came out.
func (list promises) kept(id string, start time.Time, e *Errors) {
	if p, ok := list[id]; ok && e != nil {
		e.Learn(p.start-p.made, start.Unix()-p.made)
	}
	delete(list, id)
}
