package batch

import (
	"fmt"
	"slices"
	"time"
)

// Whole is the forecast of all that waits in an engine, in memory of its own.
func Whole(e *Engine, f *Forecaster) *Forecast { return f.forecast(e.c) }

// Exactly is when jobs start, in seconds from a state on, by a scheduler all of whose
// passes are exact, as far ahead as the run goes.
func Exactly(f *Forecaster, s State) (map[string]int64, error) {
	c, err := newCluster(s, f.Policy, &f.users, false)
	if err != nil {
		return nil, err
	}
	run, starts := c.forward(f.belief(), nil), map[string]int64{}
	exact(run)
	for j, ok := run.next(); ok; j, ok = run.next() {
		starts[c.state.Jobs[j.ID].ID] = j.start - c.now
	}
	return starts, nil
}

// exact lets no run go by steps.
func exact(run *forward) {
	switch p := run.m.policy.(type) {
	case *slurm:
		p.near = never
	case *conservative:
		p.near = never
	}
}

// Placed is Exactly with nodes, a line for each job, sorted.
func Placed(f *Forecaster, s State) (lines []string, err error) {
	c, err := newCluster(s, f.Policy, &f.users, false)
	if err != nil {
		return nil, err
	}
	run := c.forward(f.belief(), nil)
	exact(run)
	for j, ok := run.next(); ok; j, ok = run.next() {
		on := map[string]int{}
		for _, share := range j.shares {
			on[c.nodes.at(int(share.node)).Name] = int(share.procs)
		}
		lines = append(lines, fmt.Sprint(c.state.Jobs[j.ID].ID, " ", j.start-c.now, " ", on))
	}
	slices.Sort(lines)
	return lines, nil
}

// Starts are the first n starts that a Live expects (0: all that wait).
func (l *Live) Starts(n int) []Expected {
	ahead := int64(0)
	if n == 0 {
		ahead = never
	}
	l.foretell(ahead, func() bool { return n > 0 && len(l.expected) >= n })
	if n > 0 && len(l.expected) > n {
		return l.expected[:n]
	}
	return l.expected
}

// Refused are the waiting jobs that are not among all Starts.
func (l *Live) Refused() []Refusal {
	l.Starts(0)
	return append(slices.Clone(l.c.refuse), left(l.c, l.run.m)...)
}

// The events of which Sync makes a difference, and those for which it sets the model
// up anew.

func (l *Live) Advance(to time.Time) { l.advance(to, -1) }

func (l *Live) Submit(j Job) error { return l.submit(j) }

func (l *Live) Start(id string, at time.Time, placed []Placement) error {
	return l.start(id, at, placed)
}

func (l *Live) Cancel(id string, at time.Time) error { return l.cancel(id, at) }

// End teaches, too, as Sync does of its own.
func (l *Live) End(id string, at time.Time) error {
	i, ok := l.index[id]
	if !ok || l.c.state.Jobs[i].Started.IsZero() {
		return l.cancel(id, at)
	}
	l.fresh()
	j := l.c.state.Jobs[l.index[id]]
	l.advance(at, l.c.at[l.index[id]])
	l.end(id, at)
	l.f.Learn(j, max(time.Second, time.Unix(min(at.Unix(), l.c.now), 0).Sub(j.Started)))
	return nil
}

func (l *Live) Change(j Job, at time.Time) error {
	i, ok := l.index[j.ID]
	if !ok {
		return &UnknownJobError{j.ID}
	}
	l.advance(at, -1)
	was := &l.c.state.Jobs[i]
	j.Started, j.Placed = was.Started, was.Placed
	*was, l.stale = j, true
	return nil
}

func (l *Live) Configure(nodes []Node, queues []Queue, reservations []Reservation, at time.Time) {
	l.advance(at, -1)
	s := &l.c.state
	s.Nodes, s.Queues, s.Reservations, l.stale = slices.Clone(nodes), slices.Clone(queues), slices.Clone(reservations), true
}

// Fine is a Slurm none of whose passes is charted.
func Fine(p Slurm) Slurm {
	p.fine = true
	return p
}

// Sought is how many jobs that wait have a place in the run of a Live.
func (l *Live) Sought() (n int) {
	for id := range l.run.m.jobs {
		if j := &l.run.m.jobs[id]; j.state == queued && len(j.shares) > 0 {
			n++
		}
	}
	return n
}

// Recalled is how many places the run of a Live gave again as in the run before, and how many
// jobs that wait had one in all.
func (l *Live) Recalled() (again, all int) {
	for i := range l.run.m.recall.lists {
		for _, k := range l.run.m.recall.lists[i].jobs {
			if k.shares != nil {
				all++
			}
		}
	}
	return l.run.m.recall.again, all
}

// Opens is what a node with processors of which one each is held for some times says of a job.
func Opens(held [][2]int64, procs int32, from, before, limit int64, each int32) bool {
	t := timeline{have: amounts{procs: procs}, loose: true}
	for i, h := range held {
		t.held = append(t.held, holding{from: h[0], to: h[1], owner: int64(i), amounts: amounts{procs: 1}})
	}
	return opens(&t, from, before, limit, &Need{}, each)
}
