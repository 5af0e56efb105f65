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
	r      *run
	j      *job
	n      *node
	free   quantity
	others int // jobs on the node
}

// begin sets the room up for k tasks of j beside what is held.
func (v *room) begin(k int64) {
	v.free = v.n.have
	v.free.slots = v.n.slots(v.j.Class)
	v.free.add(v.j.each.times(k), -1)
	v.others = 0
}

// slots is how many tasks of a class a node may hold at once.
func (n *node) slots(class string) int64 {
	if class == "" {
		return 0
	}
	return n.Classes[class]
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

// stretches lists the times from a moment on at which a node has room for k
// tasks or more. A stretch ends where the number of tasks falls, and where it
// grows; a fall and a growth at one instant that leave enough for the job end
// none.
func (r *run) stretches(j *job, n *node, k, from int64) (list []stretch) {
	v := room{r: r, j: j, n: n}
	v.begin(k)
	events := n.timeline()
	i := 0
	for ; i < len(events) && events[i].at <= from; i++ {
		v.apply(events[i])
	}
	var now stretch
	active := v.ok()
	if active {
		now = stretch{from: from, tasks: k + v.more()}
	}
	for i < len(events) {
		at, fell := events[i].at, false
		for ; i < len(events) && events[i].at == at; i++ {
			v.apply(events[i])
			fell = fell || events[i].begin
		}
		switch count := k + v.more(); {
		case active && !v.ok():
			now.to = at
			list, active = append(list, now), false
		case !active && v.ok():
			now, active = stretch{from: at, tasks: count}, true
		case active && parts(now.tasks, count, j.Tasks, fell):
			now.to = at
			list, now = append(list, now), stretch{from: at, tasks: count}
		}
	}
	if active {
		now.to = never
		list = append(list, now)
	}
	return list
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
func (r *run) opening(j *job, n *node, at int64) (tasks, span int64) {
	per := max(1, j.TasksPerNode)
	most := min(max(j.Tasks, j.TasksPerNode), r.room(j, n, at))
	if j.TasksPerNode > 0 {
		most -= most % j.TasksPerNode
	}
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
	if per > 1 {
		tasks -= tasks % per
	}
	return tasks, span
}

// room is how many tasks fit beside the running jobs now, or on the empty
// node at a later time.
func (r *run) room(j *job, n *node, at int64) int64 {
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
func (r *run) joined(j *job, n *node, k, at int64) (tasks, span int64) {
	list := r.stretches(j, n, k, at)
	if len(list) == 0 || list[0].from > at {
		return 0, 0
	}
	limit, end := max(1, j.Limit), list[0].to
	for i := 1; i < len(list) && end < at+limit && list[i].from == end; i++ {
		end = list[i].to
	}
	if end-at < limit {
		return 0, 0
	}
	whole := list[0]
	for i, s := range list[1:] {
		if s.from == whole.to && (i == 0 && s.tasks >= list[0].tasks || whole.to-at < limit) {
			whole.to, whole.tasks = s.to, min(whole.tasks, s.tasks)
		}
	}
	return whole.tasks, whole.to - at
}
