package batch

import (
	"reflect"
	"slices"
	"time"
)

// Ending is how a job ended, as accounting says. Started is zero where it never
// ran.
type Ending struct {
	ID             string
	Started, Ended time.Time
	Cancelled      bool // ended by somebody before it was done: it teaches nothing
}

// Synced counts what a Sync made of the differences.
type Synced struct {
	Submitted, Started, Ended, Cancelled int
	Requeued                             int // ran, and wait again
	Changed                              int
	Missed                               int // starts or ends of which no time was told
	Configured                           bool
}

// Sync takes in a new picture of the cluster: what must have happened since the
// last is learned from, and the model is the one of the new picture. Endings may
// name jobs that ended meanwhile (more of them, and told again, do no harm); a
// running job that is gone without a word has ended between the two pictures,
// at its limit at the latest, and is learned from only where that leaves less
// than a tenth of its run open. One that waited and is gone was cancelled. A
// picture older than the present is an error: pictures come in order.
func (l *Live) Sync(s State, endings ...Ending) (Synced, error) {
	if s.Now.Before(l.Now()) {
		return Synced{}, &PastError{s.Now, l.Now()}
	}
	if err := s.unique(); err != nil {
		return Synced{}, err
	}
	l.fresh()
	d := difference{l: l, was: l.c.state, now: s, ended: map[string]Ending{}}
	for _, e := range endings {
		d.ended[e.ID] = e
	}
	s.Jobs = slices.Clone(s.Jobs)
	d.compare(s.Jobs)
	if !d.any() {
		l.Advance(s.Now)
		return d.Synced, nil
	}
	l.snapped, l.feed.current = false, false
	l.valid = false
	return d.Synced, l.renew(l.f, s)
}

// unique finds jobs that are named twice.
func (s *State) unique() error {
	seen := make(map[string]bool, len(s.Jobs))
	for i := range s.Jobs {
		if id := s.Jobs[i].ID; seen[id] || id == "" {
			return &TwiceError{id}
		}
		seen[s.Jobs[i].ID] = true
	}
	return nil
}

// TwiceError names a job that a state has twice, or that has no name.
type TwiceError struct{ ID string }

// Error implements error.
func (e *TwiceError) Error() string {
	return "job \"" + e.ID + "\" is in the state twice or without an ID"
}

// difference is a Sync under way.
type difference struct {
	Synced
	l        *Live
	was, now State
	ended    map[string]Ending
}

func (d *difference) any() bool { return d.Synced != Synced{} }

// compare takes in what is different. Jobs that run where nobody says stay where
// the model had put them.
func (d *difference) compare(jobs []Job) {
	known := map[string]bool{}
	for i := range jobs {
		j := &jobs[i]
		known[j.ID] = true
		at, ok := d.l.index[j.ID]
		if !ok {
			d.appeared(j)
			continue
		}
		d.changed(&d.was.Jobs[at], j)
	}
	for i := range d.was.Jobs {
		if j := &d.was.Jobs[i]; j.ID != "" && !known[j.ID] {
			d.vanished(j)
		}
	}
	for _, e := range d.ended { // those that came and went between the pictures
		if _, was := d.l.index[e.ID]; !was && !known[e.ID] && !e.Started.IsZero() && e.Started.After(d.was.Now) {
			d.Submitted, d.Started, d.Ended = d.Submitted+1, d.Started+1, d.Ended+1
		}
	}
	d.Configured = !reflect.DeepEqual(d.was.Nodes, d.now.Nodes) || !reflect.DeepEqual(d.was.Queues, d.now.Queues) ||
		!reflect.DeepEqual(d.was.Reservations, d.now.Reservations)
}

func (d *difference) appeared(j *Job) {
	d.Submitted++
	if !j.Started.IsZero() {
		d.Started++
	}
}

func (d *difference) changed(was, is *Job) {
	switch {
	case was.Started.IsZero() && !is.Started.IsZero():
		d.Started++
		d.l.first.kept(is.ID, is.Started, d.l.f.Errors)
	case !was.Started.IsZero() && is.Started.IsZero():
		d.Requeued++
	case !was.Started.IsZero() && !was.Started.Equal(is.Started):
		d.Requeued, d.Started = d.Requeued+1, d.Started+1
	}
	if len(is.Placed) == 0 && was.Started.Equal(is.Started) {
		is.Placed = was.Placed
	}
	if w := *was; !reflect.DeepEqual(w.told(is), *is) {
		d.Changed++
	}
}

// told is a job with what is not compared taken from another.
func (j Job) told(is *Job) Job {
	j.Started = is.Started
	return j
}

func (d *difference) vanished(j *Job) {
	e, told := d.ended[j.ID]
	switch {
	case j.Started.IsZero() && told && !e.Started.IsZero(): // started and ended between the pictures
		d.Started, d.Ended = d.Started+1, d.Ended+1
		d.l.first.kept(j.ID, e.Started, d.l.f.Errors)
		d.learn(j, e)
	case j.Started.IsZero():
		d.Cancelled++
	case told && e.Cancelled:
		d.Cancelled++
	case told:
		d.Ended++
		if e.Started.IsZero() {
			e.Started = j.Started
		}
		d.learn(j, e)
	default:
		d.Ended, d.Missed = d.Ended+1, d.Missed+1
		d.guess(j)
	}
	delete(d.l.first, j.ID)
}

// learn teaches the belief a job that has ended.
func (d *difference) learn(j *Job, e Ending) {
	if run := e.Ended.Sub(e.Started); run > 0 && !e.Cancelled {
		d.l.f.Learn(*j, run)
	}
}

// guess teaches the belief a job of which it is roughly known when it ended.
func (d *difference) guess(j *Job) {
	first, last := d.was.Now, d.now.Now
	if limit := j.Started.Add(j.Requested); j.Requested > 0 && limit.Before(last) && limit.After(first) {
		last = limit
	}
	middle := first.Add(last.Sub(first) / 2)
	if run := middle.Sub(j.Started); run > 0 && last.Sub(first) < run/5 {
		d.l.f.Learn(*j, run)
	}
}
