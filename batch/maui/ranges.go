package maui

import (
	"cmp"
	"slices"
)

// stretch is a time during which a node has room for so many tasks.
type stretch struct{ from, to, tasks int64 }

// timeline sorts the begins and ends of what is held of a node.
func (n *node) timeline() []event {
	if n.events == nil {
		n.events = make([]event, 0, 2*len(n.holds))
		for i, h := range n.holds {
			n.events = append(n.events, event{h.from, int32(i), true}, event{h.to, int32(i), false})
		}
		slices.SortFunc(n.events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	}
	return n.events
}

// room follows how much of a node is free for a job as time goes by.
type room struct {
	r      *planner
	j      *job
	n      *node
	free   quantity
	others int // jobs on the node
}

// begin sets the room up for k tasks of j beside what is held.
func (v *room) begin(k int64) {
	v.free = v.n.have
	v.free.slots = v.n.slots(v.j.Class)
	if v.others = 0; k == 1 {
		v.free.add(v.j.each, -1)
		return
	}
	v.free.add(v.j.each.times(k), -1)
}

// slots is how many tasks of a class a node may hold at once.
func (n *node) slots(class string) int64 {
	if n.class != class {
		n.class, n.tasks = class, n.Classes[class]
	}
	return n.tasks
}

// apply takes a begin or end of a hold in.
func (v *room) apply(e event) {
	h := &v.n.holds[e.hold]
	sign := int64(1)
	if e.begin {
		sign = -1
	}
	if h.job == nil {
		if !v.r.admits(h.standing, v.j) {
			v.free.add(h.amount, sign)
		}
		return
	}
	if h.job == v.j {
		return
	}
	v.others -= int(sign)
	amount := h.amount
	if h.job.Class != v.j.Class {
		amount.slots = 0
	}
	if v.r.Config.Access == "SINGLEUSER" && h.job.User != v.j.User {
		amount = v.n.have
	}
	v.free.add(amount, sign)
}

// ok tells whether the tasks asked for have room.
func (v *room) ok() bool {
	if most := v.n.config.MaxJobs; most > 0 && v.others >= most {
		return false
	}
	return !v.free.negative() && (v.others == 0 || !v.j.only)
}

// more is how many tasks would fit beyond those asked for.
func (v *room) more() int64 {
	if v.j.only {
		return 0
	}
	return v.free.fits(v.j.each)
}

// stretches goes through the times from a moment on at which a node has room for
// k tasks or more. A stretch ends where the number of tasks falls, and where it
// grows; a fall and a growth at one instant that leave enough for the job end
// none.
type stretches struct {
	room
	events []event // to come
	asked  int64
	now    stretch
	active bool
	k      int64
}

// start begins at a time.
func (s *stretches) start(r *planner, j *job, n *node, k, from int64) {
	s.r, s.j, s.n, s.events, s.asked, s.k = r, j, n, n.timeline(), j.Tasks, k
	s.begin(k)
	for len(s.events) > 0 && s.events[0].at <= from {
		s.apply(s.events[0])
		s.events = s.events[1:]
	}
	if s.active = s.ok(); s.active {
		s.now = stretch{from: from, tasks: k + s.more()}
	}
}

// next is the next stretch; false: there is none.
func (s *stretches) next() (stretch, bool) {
	for len(s.events) > 0 {
		at, fell := s.events[0].at, false
		for ; len(s.events) > 0 && s.events[0].at == at; s.events = s.events[1:] {
			s.apply(s.events[0])
			fell = fell || s.events[0].begin
		}
		done := s.now
		switch count, ok := s.k+s.more(), s.ok(); {
		case s.active && !ok:
			s.active = false
		case !s.active && ok:
			s.now, s.active = stretch{from: at, tasks: count}, true
			continue
		case s.active && parts(s.now.tasks, count, s.asked, fell):
			s.now = stretch{from: at, tasks: count}
		default:
			continue
		}
		done.to = at
		return done, true
	}
	if !s.active {
		return stretch{}, false
	}
	s.active, s.now.to = false, never
	return s.now, true
}

// parts tells whether a change of the number of tasks ends a stretch.
func parts(was, is, asked int64, fell bool) bool {
	if fell {
		return is != was && (asked == 0 || is < asked || is < was || was < asked)
	}
	return is > was
}

// opening is how many tasks of a job a node could take from a moment on for
// the job's whole limit, and for how long it has room for them: until the
// first fall, or the first change behind one growth.
func (r *planner) opening(j *job, n *node, at int64) (tasks, span int64) {
	per := max(1, j.TasksPerNode)
	if j.only {
		most := min(max(j.Tasks, j.TasksPerNode), r.room(j, n, at))
		return r.whole(j, n, most-most%per, at)
	}
	// Which stretches there are does not depend on how many tasks of those that
	// have room are asked for.
	if tasks, span = r.joined(j, n, per, at); tasks < per {
		return 0, 0
	}
	return tasks - tasks%per, span
}

// whole is opening for a job that takes whole nodes: as many tasks as have room
// on the empty node, by halving.
func (r *planner) whole(j *job, n *node, most, at int64) (tasks, span int64) {
	per := max(1, j.TasksPerNode)
	for most > max(tasks, per-1) {
		try := (most + tasks + 1) / 2
		if per > 1 {
			try = max(per*(tasks/per+1), try-try%per)
		}
		got, length := r.joined(j, n, try, at)
		if got == 0 {
			most = try - 1
			most -= most % per
			continue
		}
		tasks, span = got, length
	}
	return tasks - tasks%per, span
}

// room is how many tasks fit beside the running jobs now, or on the empty
// node at a later time.
func (r *planner) room(j *job, n *node, at int64) int64 {
	free := n.have
	free.slots = n.slots(j.Class)
	if at <= r.now && !j.preemptor {
		used := n.used
		used.slots = 0
		free.add(used, -1)
	}
	if j.only && r.Config.Access == "SINGLETASK" {
		return min(1, free.fits(j.each))
	}
	return free.fits(j.each)
}

// joined joins the stretches from a moment on until they last for the job's
// limit: the least number of tasks and the length; 0: not long enough.
func (r *planner) joined(j *job, n *node, k, at int64) (tasks, span int64) {
	list := &r.steps
	list.start(r, j, n, k, at)
	if !list.active {
		return 0, 0
	}
	whole, _ := list.next()
	limit, first := max(1, j.Limit), whole.tasks
	for i := 0; i == 0 || whole.to-at < limit; i++ {
		s, ok := list.next()
		if !ok || s.from != whole.to || whole.to-at >= limit && s.tasks < first {
			break
		}
		whole.to, whole.tasks = s.to, min(whole.tasks, s.tasks)
	}
	if whole.to-at < limit {
		return 0, 0
	}
	return whole.tasks, whole.to - at
}
