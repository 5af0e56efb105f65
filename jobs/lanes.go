package jobs

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"gridbroker/jdl"
)

// Who follows jobs brings files from node to node of DAGs and sends large input files. So that nobody else's
// jobs wait for that, such jobs are sent beside the looks at all others, those of one DAG or collection that are due
// at one look together, by copies of what is known of them: as if another process did it.

const (
	// heavy is from how many bytes of input files on a job is sent beside the others.
	heavy = 32 << 20
	// laneWait is for how long a look waits for what it has begun beside it: most is through by then.
	laneWait = 2 * time.Second
	// mostLanes is how many lanes one DAG or collection has at once.
	mostLanes = 4
)

// lanes are what is being sent beside the looks.
type lanes struct {
	mu sync.Mutex
	of map[string]*lane // by the first of their jobs
}

// lane is jobs of one DAG or collection on their way.
type lane struct {
	group   string
	ids     []string
	jobs    []*Outcome    // nobody else's until it is through
	through chan struct{} // closed when nobody works on them any more
	err     error
}

// away are the jobs that are on their way, by id.
func (l *lanes) away() map[string]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	ids := map[string]bool{}
	for _, lane := range l.of {
		for _, id := range lane.ids {
			ids[id] = true
		}
	}
	return ids
}

// enter puts jobs of a group on a lane of their own; nil: the group has as many as it may have.
func (l *lanes) enter(group string, os []*Outcome, most int) *lane {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := 0
	for _, n := range l.of {
		if n.group == group {
			taken++
		}
	}
	if taken >= most {
		return nil
	}
	if l.of == nil {
		l.of = map[string]*lane{}
	}
	n := &lane{group: group, through: make(chan struct{})}
	for _, o := range os {
		r := *o.Record
		n.ids, n.jobs = append(n.ids, r.ID), append(n.jobs, &Outcome{Record: &r, job: o.job})
	}
	l.of[os[0].ID] = n
	return n
}

// leave takes away the lanes that are through.
func (l *lanes) leave() (gone []*lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.of, func(_ string, n *lane) bool {
		select {
		case <-n.through:
			gone = append(gone, n)
			return true
		default:
			return false
		}
	})
	return gone
}

// Rest waits until nothing is sent, brought or run beside the looks of Wait or Step any more; the end of their context ends
// that. Jobs that were on their way then are for a later look.
func Rest(c *Controller) {
	for _, l := range []*lanes{&c.lanes, &c.bringing, &c.scripts.lanes} {
		l.mu.Lock()
		under := slices.Collect(maps.Values(l.of))
		l.mu.Unlock()
		for _, n := range under {
			<-n.through
		}
	}
}

// arrive takes over what became of jobs that were sent beside the looks.
func (f *following) arrive() error {
	var errs []error
	gone := append(f.lanes.leave(), f.scripts.leave()...)
	if len(gone) == 0 {
		return nil
	}
	at := make(map[string]*Outcome, len(f.jobs))
	for _, o := range f.jobs {
		at[o.ID] = o
	}
	for _, n := range gone {
		for _, sent := range n.jobs {
			if o := at[sent.ID]; o != nil {
				*o = *sent
			}
		}
		errs = append(errs, n.err)
	}
	return errors.Join(errs...)
}

// here are the jobs that are not on their way, and of which their back-ends have not said all.
func (f *following) here() []*Outcome {
	away := f.away()
	gone := func(o *Outcome) bool { return away[o.ID] || awaitsPost(o.Record) && o.Cancelled.IsZero() }
	if !slices.ContainsFunc(f.jobs, gone) {
		return f.jobs
	}
	return slices.DeleteFunc(slices.Clone(f.jobs), gone)
}

// slow tells of a job that takes files of others, or large ones along.
func slow(o *Outcome) bool {
	if len(o.Takes()) > 0 {
		return true
	}
	job, err := o.Job()
	return err == nil && weight(job) >= heavy
}

// weight is how many bytes of this machine go along with a job.
func weight(job *jdl.Job) (bytes int64) {
	for _, in := range job.InputSandbox {
		bytes += in.Size()
	}
	return bytes
}

// sendBeside sends jobs beside the looks, and waits a little for that; where the look is to be thorough, to its end.
func (f *following) sendBeside(ctx context.Context, os []*Outcome) error {
	groups := map[string][]*Outcome{}
	for _, o := range os {
		groups[o.Parent] = append(groups[o.Parent], o)
	}
	var begun []*lane
	for name, list := range groups {
		if n := f.lanes.enter(name, list, mostLanes); n != nil {
			begun = append(begun, n)
			go f.carry(ctx, n)
		}
	}
	if len(begun) == 0 {
		return nil
	}
	return awaitBegun(ctx, f, begun)
}

// awaitBegun waits a little for lanes, or to their ends where the look is to be thorough, and takes over what has arrived.
func awaitBegun(ctx context.Context, f *following, begun []*lane) error {
	var enough <-chan time.Time
	if !f.Thorough {
		enough = f.Clock.After(laneWait)
	}
	for _, n := range begun {
		select {
		case <-n.through:
		case <-enough:
			return f.arrive()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return f.arrive()
}

// carry brings what the jobs of a lane take of others, and sends them.
func (f *following) carry(ctx context.Context, n *lane) {
	defer close(n.through)
	beside := &following{Controller: f.Controller, Waiting: f.Waiting, jobs: n.jobs, patience: f.patience}
	due, err := beside.supplied(ctx, n.jobs)
	if err == nil {
		err = beside.sendDue(ctx, due)
	}
	if ctx.Err() == nil { // else it was interrupted, which its user knows
		n.err = err
	}
}
