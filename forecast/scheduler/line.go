package scheduler

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"gridbroker/forecast/scheduler/plan"
	"gridbroker/forecast/wire"
	"gridbroker/plugins"
)

// line is the jobs that have not ended as their leader goes through them in every cycle: those that wait in the order in
// which they came, the others by their names, and what the sites are asked about in the order in which they are. What was
// worked out of a job that waits is kept with it from cycle to cycle.
//
// Whoever changes a job says so (changed), as it is to be saved anyway. Before anybody looks again it is where it
// belongs, and what was worked out of it is forgotten.
type line struct {
	of        map[string]*inLine // by name
	waiting   []*inLine
	elsewhere []*inLine
	atSites   []*placed
	moved     []*inLine // that have changed since they were put where they are
	owners    map[string]*owner
	lapsing   int // jobs that go by attributes of their owners that end
}

// inLine is one of these jobs.
type inLine struct {
	*Job
	in    part
	mark  wire.Mark // of its booking
	asked *placed   // what its site is asked about; nil: nothing
	moved bool
	// wish is where it may run, nil: that is not known, as of the so-many-th judging of all, by its key, which holds until a time.
	wish   *wish
	wished string
	judged int
	until  int64
	// planned is what planning is told of the job itself, and owner whose it is: what is looked at in every cycle lies together.
	planned plan.Job
	owner   *owner
	lapses  bool // it counts among those of its line
	stands  bool // it is not planned: its owner has cancelled it, or holds it
	slow    bool // it takes longer to be brought to some clusters
}

// owner is whose jobs are in a line, and his number among the users of the plan for which it was last wanted.
type owner struct {
	name   string
	jobs   int
	in     int // that plan's
	number int32
}

// part is where in a line a job is.
type part int

const (
	nowhere part = iota
	waits
	hasPlace
)

func newLine() line { return line{of: map[string]*inLine{}, owners: map[string]*owner{}} }

// job is the one of a name; nil: it is not here.
func (l *line) job(id string) *Job {
	if e := l.of[id]; e != nil {
		return e.Job
	}
	return nil
}

// enter takes in a job, unless it is here.
func (l *line) enter(j *Job) {
	if l.of[j.ID] == nil {
		l.of[j.ID] = &inLine{Job: j}
		l.changed(j)
	}
}

// changed is told of every job that may have come to another place, or whose wish may be another.
func (l *line) changed(j *Job) {
	if e := l.of[j.ID]; e != nil && !e.moved {
		e.moved = true
		l.moved = append(l.moved, e)
	}
}

// leave forgets a job that has ended.
func (l *line) leave(j *Job) {
	l.changed(j)
	delete(l.of, j.ID)
}

// belongs is where a job belongs.
func (l *line) belongs(e *inLine) part {
	switch {
	case l.of[e.ID] != e:
		return nowhere
	case e.State == Waiting:
		return waits
	}
	return hasPlace
}

// settle puts those that have changed where they belong.
func (l *line) settle() {
	if len(l.moved) == 0 {
		return
	}
	var gone, come [hasPlace + 1][]*inLine
	var over, next []*placed
	for _, e := range l.moved {
		to := l.belongs(e)
		l.restate(e, to)
		if e.Booking != nil {
			e.mark = wire.MarkOne(e.Booking.Key, e.Booking.To, e.State == Running)
		}
		if e.moved, e.until = false, 0; e.in != to {
			gone[e.in], come[to] = append(gone[e.in], e), append(come[to], e)
			e.in = to
		}
		was := e.asked
		if e.asked = e.Job.asked(e.owner.name, was); to == nowhere {
			e.asked = nil
		}
		if e.asked != was && was != nil {
			over = append(over, was)
		}
		if e.asked != was && e.asked != nil {
			next = append(next, e.asked)
		}
	}
	l.moved = l.moved[:0]
	l.waiting = exchange(l.waiting, gone[waits], come[waits], bySeq)
	l.elsewhere = exchange(l.elsewhere, gone[hasPlace], come[hasPlace], byName)
	l.atSites = exchange(l.atSites, over, next, inTurn)
}

// restate notes of a job that has changed what is looked at in every cycle.
func (l *line) restate(e *inLine, to part) {
	j := e.Job
	e.planned = plan.Job{Seq: j.Seq, Priority: float32(j.Priority), Wall: j.Wall, Procs: j.Procs, Nodes: j.Nodes, Memory: j.Memory, Bypassed: j.Bypassed}
	e.stands, e.slow = j.Cancel || j.OnHold, len(j.Leads) > 0
	if e.owner == nil {
		if e.owner = l.owners[j.Owner]; e.owner == nil {
			e.owner = &owner{name: j.Owner}
			l.owners[j.Owner] = e.owner
		}
		e.owner.jobs++
	}
	if to == nowhere {
		if e.owner.jobs--; e.owner.jobs == 0 {
			delete(l.owners, e.owner.name)
		}
	}
	if lapses := j.Lapses && to != nowhere; lapses != e.lapses {
		e.lapses = lapses
		l.lapsing += b2i(lapses) - b2i(!lapses)
	}
}

// lapse tells whether any job goes by attributes of its owner that end.
func (l *line) lapse() bool {
	l.settle()
	return l.lapsing > 0
}

func bySeq(a, b *inLine) int  { return cmp.Compare(a.Seq, b.Seq) }
func byName(a, b *inLine) int { return strings.Compare(a.ID, b.ID) }

// exchange takes some out of a list that is in an order, and puts others in.
func exchange[T comparable](list, gone, come []T, order func(a, b T) int) []T {
	slices.SortFunc(gone, order)
	slices.SortFunc(come, order)
	if len(gone) > 0 {
		at, _ := slices.BinarySearchFunc(list, gone[0], order)
		kept := list[:at]
		for _, v := range list[at:] {
			if len(gone) > 0 && v == gone[0] {
				gone = gone[1:]
			} else {
				kept = append(kept, v)
			}
		}
		clear(list[len(kept):])
		list = kept
	}
	end := len(list)
	list = append(list, come...)
	for k := len(come) - 1; k >= 0; k-- { // those behind it go back by as many as are still to come
		at, _ := slices.BinarySearchFunc(list[:end], come[k], order)
		copy(list[at+k+1:], list[at:end])
		list[at+k], end = come[k], at
	}
	return list
}

// waits are the jobs that wait, in the order in which they came. The list is good until a job changes.
func (l *line) waits() []*inLine {
	l.settle()
	return l.waiting
}

// places are the jobs that have a place, by their names, and those that have just ended.
func (l *line) places() []*inLine {
	l.settle()
	return l.elsewhere
}

// all are both.
func (l *line) all() iter.Seq[*Job] {
	return func(yield func(*Job) bool) {
		for _, list := range [...][]*inLine{l.waits(), l.places()} {
			for _, e := range list {
				if !yield(e.Job) {
					return
				}
			}
		}
	}
}

// pick lists the jobs that a rule holds for in the order in which they came, so
// that what is done with them has one order, too.
func pick(rule func(*Job) bool, lists ...[]*inLine) (list []*Job) {
	for _, some := range lists {
		for _, e := range some {
			if rule(e.Job) {
				list = append(list, e.Job)
			}
		}
	}
	slices.SortFunc(list, func(a, b *Job) int { return cmp.Compare(a.Seq, b.Seq) })
	return list
}

// toPlan are the jobs that wait, and those that may be moved, in the order in which they came.
func (l *line) toPlan(movable func(*Job) bool) []*inLine {
	var list []*inLine
	for _, e := range l.places() {
		if movable(e.Job) {
			list = append(list, e)
		}
	}
	if len(list) == 0 {
		return l.waits()
	}
	return exchange(slices.Clone(l.waits()), nil, list, bySeq)
}

// placed is a job at a site, by whose credential it is asked about, and when in turn. Nobody changes it.
type placed struct {
	by           holder
	cluster      string
	job, request string
	handle       plugins.Handle
	seq          int64
	from         int64 // when its site is to let it begin; 0: nobody waits for that
}

// asked is what the site of a job is asked about; nil: nothing. It is that of before where nothing of it is new. The owner's name
// is the same text for all of his jobs: they are told from others' by where it is.
func (j *Job) asked(owner string, was *placed) *placed {
	if j.State != Sent && j.State != Running {
		return nil
	}
	by := j.holder()
	by.owner = owner
	is := placed{by, j.Booking.Cluster, j.ID, j.request(), j.Handle, j.Seq, 0}
	if j.State == Sent && !j.Booking.Turn && !j.Withdraw && !j.Cancel {
		is.from = j.Booking.From
	}
	if was != nil && *was == is {
		return was
	}
	return &is
}

// inTurn is the order in which jobs are asked about: by whose they are, then by where they are.
func inTurn(a, b *placed) int {
	return cmp.Or(a.by.compare(b.by), strings.Compare(a.handle.Endpoint, b.handle.Endpoint),
		strings.Compare(a.handle.Interface, b.handle.Interface), cmp.Compare(a.seq, b.seq))
}
