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
	Failed         bool // otherwise than well: at its limit, by an error, with its node
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
// than a tenth of its run open. One that waited and is gone was cancelled. Who is
// said to wait still for one that is gone goes by how that ended, one of which nothing is
// told well if it ran. A picture older than the present is an error: pictures come in order.
func (l *Live) Sync(s State, endings ...Ending) (Synced, error) {
	if s.Now.Before(l.Now()) {
		return Synced{}, &PastError{s.Now, l.Now()}
	}
	l.fresh()
	if s.Mark != 0 && s.Mark == l.mark && len(endings) == 0 {
		l.pass(s.Now)
		return Synced{}, nil
	}
	did, err := l.compare(s, endings)
	if l.mark = s.Mark; err != nil {
		l.mark = 0
	}
	return did, err
}

// pass lets time pass in which nothing has happened.
func (l *Live) pass(now time.Time) {
	l.near.current = false
	l.advance(now, -1)
	l.age()
}

// compare is Sync of a picture in which anything may be new.
func (l *Live) compare(s State, endings []Ending) (Synced, error) {
	d := difference{l: l, was: l.c.state, now: s, ended: map[string]Ending{}}
	for _, e := range endings {
		d.ended[e.ID] = e
	}
	s.Jobs = append(l.room[:0], s.Jobs...)
	l.room = s.Jobs
	if err := d.compare(s.Jobs); err != nil {
		return Synced{}, err
	}
	if d.any() {
		l.near.forecast = nil
	}
	if d.any() && !d.play() {
		l.valid, l.room, l.near.current = false, nil, false // the model keeps them
		return d.Synced, l.renew(l.f, s)
	}
	l.pass(s.Now)
	return d.Synced, nil
}

// Missing tells whether a job that was there at the last picture is not in this one.
func (l *Live) Missing(s State) bool {
	there, next := 0, 0
	for i := range s.Jobs {
		if at, known := l.place(s.Jobs[i].ID, next); known {
			there, next = there+1, at+1
		}
	}
	return there < len(l.index)
}

// place is where a job is in the state, which is to be looked at first: pictures have jobs in the order of those before.
func (l *Live) place(id string, first int) (at int, known bool) {
	if jobs := l.c.state.Jobs; first < len(jobs) && id != "" && jobs[first].ID == id {
		return first, true
	}
	at, known = l.index[id]
	return at, known
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
	events   []event // the differences one by one
	anew     bool    // they do not say all
}

func (d *difference) any() bool { return d.Synced != Synced{} }

// compare takes in what is different. Jobs that run where nobody says stay where
// the model had put them.
func (d *difference) compare(jobs []Job) error {
	places, known, err := d.places(jobs)
	if err != nil {
		return err
	}
	d.settle(jobs, known)
	for i := range jobs {
		if at := places[i]; at < 0 {
			d.appeared(&jobs[i])
		} else {
			d.changed(&d.was.Jobs[at], &jobs[i])
		}
	}
	fresh := make(map[string]bool)
	for i, at := range places {
		if at < 0 {
			fresh[jobs[i].ID] = true
		}
	}
	for i := range d.was.Jobs {
		if j := &d.was.Jobs[i]; j.ID != "" && !known[i] {
			d.vanished(j)
		}
	}
	for _, e := range d.ended { // those that came and went between the pictures
		if _, was := d.l.index[e.ID]; !was && !fresh[e.ID] && !e.Started.IsZero() && e.Started.After(d.was.Now) {
			d.Submitted, d.Started, d.Ended = d.Submitted+1, d.Started+1, d.Ended+1
		}
	}
	d.Configured = !reflect.DeepEqual(d.was.Nodes, d.now.Nodes) || !reflect.DeepEqual(d.was.Queues, d.now.Queues) ||
		!reflect.DeepEqual(d.was.Reservations, d.now.Reservations) || !reflect.DeepEqual(d.was.Caps, d.now.Caps)
	return nil
}

// places finds where the jobs of a picture were in the one before, -1: nowhere, and
// which of those have been found.
func (d *difference) places(jobs []Job) (places []int, known []bool, err error) {
	places, known = make([]int, len(jobs)), make([]bool, len(d.was.Jobs))
	fresh, next := map[string]bool{}, 0
	for i := range jobs {
		id := jobs[i].ID
		at, ok := d.l.place(id, next)
		if id == "" || ok && known[at] || !ok && fresh[id] {
			return nil, nil, &TwiceError{id}
		}
		if places[i] = at; ok {
			known[at], next = true, at+1
		} else {
			places[i], fresh[id] = -1, true
		}
	}
	return places, known, nil
}

func (d *difference) appeared(j *Job) {
	d.Submitted++
	if !j.Started.IsZero() {
		d.Started++
		d.anew = true
	}
	d.events = append(d.events, event{j.Submitted, submission, j})
}

func (d *difference) changed(was, is *Job) {
	switch {
	case was.Started.IsZero() && !is.Started.IsZero():
		d.Started++
		d.l.first.kept(is.ID, is.Started, d.l.f.Errors)
		d.events = append(d.events, event{is.Started, start, is})
	case !was.Started.IsZero() && is.Started.IsZero():
		d.Requeued++
	case !was.Started.IsZero() && !was.Started.Equal(is.Started):
		d.Requeued, d.Started = d.Requeued+1, d.Started+1
	}
	if len(is.Placed) == 0 && was.Started.Equal(is.Started) {
		is.Placed = was.Placed
	}
	if !was.same(is) {
		d.Changed++
	}
}

// same tells whether nothing but a start, and where it was, is new of a job.
func (j *Job) same(is *Job) bool {
	a := *j
	if a.Started.IsZero() && !is.Started.IsZero() {
		a.Placed = is.Placed
	}
	same := slices.Equal(a.Placed, is.Placed) && slices.Equal(a.Features, is.Features) && slices.Equal(a.After, is.After) &&
		slices.Equal(a.Also, is.Also) && slices.Equal(a.Within, is.Within) && slices.Equal(a.Without, is.Without) && slices.Equal(a.Takes, is.Takes) && a.Submitted.Equal(is.Submitted) && a.Begin.Equal(is.Begin) && a.Deadline.Equal(is.Deadline)
	return same && a.plain() == is.plain()
}

// plain is what a job is but for lists and times, to be compared.
type plain struct {
	id, user, group, queue, account, qos, array, reservation, unfit string
	procs, nodes, maxNodes, each, core, gpus, arrayLimit            int
	memory, disk                                                    int64
	requested, least                                                time.Duration
	held, exclusive, eligible, suspended, paused                    bool
	priority                                                        float64
}

func (j *Job) plain() plain {
	return plain{j.ID, j.User, j.Group, j.Queue, j.Account, j.QOS, j.Array, j.Reservation, j.Unfit, j.Procs, j.Nodes, j.MaxNodes, j.Each, j.Core, j.GPUs, j.ArrayLimit,
		j.Memory, j.Disk, j.Requested, j.Least, j.Held, j.Exclusive, j.Eligible, j.Suspended, j.Paused, j.Priority}
}

func (d *difference) vanished(j *Job) {
	e, told := d.ended[j.ID]
	gone := event{d.was.Now, end, j}
	if told && !j.Started.IsZero() && e.Ended.After(gone.at) {
		gone.at = e.Ended
	}
	d.events = append(d.events, gone)
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
