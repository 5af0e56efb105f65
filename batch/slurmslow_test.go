package batch

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// slowPass is one pass of Slurm's backfill, written to be obviously right: it goes by
// the lists of what runs and of the places given, and every question is answered by
// looking at all of them, node by node. It knows of the machine who runs where, who
// waits in which order, and what nodes have.
type slowPass struct {
	p       *slurm
	now     int64
	nodes   []amounts
	runs    []slowStay
	places  []slowStay
	waiting []job
	parked  []job            // of arrays that may have no more jobs running
	users   map[int64]int    // jobs tried
	parts   map[int32]int    // the same, by partition
	both    map[[2]int64]int // by user and partition
	ahead   map[int32]int    // places, by partition
	arrays  map[int32]int    // places, by array
	begins  map[int64]int64  // of the places, by job
	starts  []string
	small   bool // nodes with little room count: see nearby
	booked  slowBooked
	yield   func(*job) bool // starts one in place of others; nil: nobody gives way
	caps    *slowCaps       // nil: there are none
	stays   []string        // the places, as a story tells them
}

// slowStay is a job on nodes from a time to another.
type slowStay struct {
	from, to int64
	seq      int64
	need     *Need
	nodes    []share
}

func newSlowPass(m *Machine) *slowPass {
	s := &slowPass{p: m.policy.(*slurm), now: m.now, begins: map[int64]int64{}}
	s.count()
	for i := range m.plan.(*nodePlan).nodes {
		s.nodes = append(s.nodes, m.plan.(*nodePlan).nodes[i].have)
	}
	s.p.queue.each(func(e *entry) { s.waiting = append(s.waiting, m.jobs[e.job]) })
	for i := range m.queues {
		m.queues[i].parked.each(func(e *entry) { s.parked = append(s.parked, m.jobs[e.job]) })
	}
	for _, j := range m.jobs {
		if j.state == running {
			s.runs = append(s.runs, slowStay{j.start, j.start + j.limit, j.seq, j.Need, j.shares})
		}
	}
	return s
}

// room is how many processors of a job a node can take beside what runs at a time.
func (s *slowPass) room(node int, at int64, n *Need) int32 {
	left := s.nodes[node]
	for _, r := range s.runs {
		for _, part := range r.nodes {
			if int(part.node) == node && at < r.to {
				left.procs -= part.procs
				left.memory -= int64(part.procs) * r.need.Memory
				left.disk -= r.need.Disk
				left.gpus -= int32(r.need.GPUs)
			}
		}
	}
	most := left.procs
	if n.Whole && left != s.nodes[node] || n.Disk > left.disk || int32(n.GPUs) > left.gpus {
		return 0
	}
	for most > 0 && (inCores(most, n) > left.procs || int64(inCores(most, n))*n.Memory > left.memory || n.Each > 0 && int(most)%n.Each > 0) {
		most--
	}
	return max(0, most)
}

// inCores is how many processors a job has of a node that is asked for so many: whole cores.
func inCores(procs int32, n *Need) int32 {
	for n.Core > 0 && int(procs)%n.Core > 0 {
		procs++
	}
	return procs
}

// kept tells whether a place is on a node at some moment of [from, to).
func (s *slowPass) kept(node int, from, to int64) bool {
	return slices.ContainsFunc(s.places, func(p slowStay) bool {
		return p.from < to && from < p.to && slices.ContainsFunc(p.nodes, func(part share) bool { return int(part.node) == node })
	})
}

// slowChoose takes nodes for a job, given the room of each: see TestSlurmRuns.
func (s *slowPass) slowChoose(j *job, free []int32) []share {
	each := max(1, j.Need.Each)
	least, most := max(1, min(j.Need.Nodes, j.Procs/each)), cmp.Or(j.Need.Nodes, j.Need.MaxNodes, len(free))
	widest := 0
	for _, n := range s.nodes {
		widest = max(widest, int(n.procs))
	}
	first := max(1, j.Procs-(most-1)*widest) // with less room, were the others all of the widest, a node is of no use
	if s.small {
		first = 1
	}
	list := []share(nil)
	for room := int32(first); list == nil && room <= slices.Max(free); room++ {
		list = slowRuns(free, room, int32(j.Procs), least, most, each, s.small)
	}
	if list == nil {
		list = slowWidest(free, int32(j.Procs), least, most, each)
	}
	for i := range list {
		if list[i].procs = inCores(list[i].procs, j.Need); j.Need.Whole {
			list[i].procs = s.nodes[list[i].node].procs
		}
	}
	return list
}

// slowRuns chooses among nodes that have so much room; nil: they do not do.
func slowRuns(free []int32, room, procs int32, least, most, each int, small bool) (list []share) {
	left := slices.Clone(free)
	for procs > 0 || len(list) < least {
		from, to := slowRun(left, room, procs, least-len(list))
		if from == to || len(list) == most {
			return nil
		}
		single := -1
		for n := from; n < to; n++ {
			if left[n] >= procs && (single < 0 || left[n] < left[single]) {
				single = n
			}
		}
		if single >= 0 && least-len(list) <= 1 {
			return append(list, share{int32(single), procs})
		}
		for n := from; n < to && len(list) < most && (procs > 0 || len(list) < least); n++ {
			if small && most-len(list) == 1 && left[n] < procs {
				continue // it would be the last, and has not enough
			}
			part := min(left[n], procs-int32(max(0, least-len(list)-1)*each))
			list, procs = append(list, share{int32(n), part}), procs-part
		}
		clear(left[from:to])
	}
	return list
}

// slowRun is the run of neighbours with so much room each that is the least to hold so
// many processors on so many nodes, else the one with the most.
func slowRun(free []int32, room, procs int32, least int) (from, to int) {
	best, enough := int32(0), false
	for a := 0; a < len(free); a++ {
		b, sum := a, int32(0)
		for ; b < len(free) && free[b] >= room; b++ {
			sum += free[b]
		}
		does := sum >= procs && b-a >= least
		if b > a && (to == 0 || does && !enough || does && sum < best || !does && !enough && sum > best) {
			from, to, best, enough = a, b, sum, does
		}
		a = max(a, b)
	}
	return from, to
}

// slowWidest takes the nodes with the most room; nil: they do not do.
func slowWidest(free []int32, procs int32, least, most, each int) (list []share) {
	order := make([]int, len(free))
	for n := range order {
		order[n] = n
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(free[b], free[a]) })
	for _, n := range order {
		if part := min(free[n], procs-int32(max(0, least-len(list)-1)*each)); part > 0 && len(list) < most {
			list, procs = append(list, share{int32(n), part}), procs-part
		}
	}
	if procs > 0 || len(list) < least {
		return nil
	}
	return list
}

// count begins to count.
func (s *slowPass) count() {
	s.users, s.parts, s.both, s.arrays, s.ahead = map[int64]int{}, map[int32]int{}, map[[2]int64]int{}, map[int32]int{}, map[int32]int{}
}

// tries counts a job; false: too many of its user, partition or both were tried, or of its
// array have places.
func (s *slowPass) tries(j *job) bool {
	both := [2]int64{j.User, int64(j.part)}
	switch {
	case j.array > 0 && s.arrays[j.array] >= s.p.MaxArrayReserve,
		s.p.MaxJobUser > 0 && s.users[j.User] >= s.p.MaxJobUser,
		s.p.MaxJobPart > 0 && s.parts[j.part] >= s.p.MaxJobPart,
		s.p.MaxJobUserPart > 0 && s.both[both] >= s.p.MaxJobUserPart:
		return false
	}
	s.users[j.User]++
	s.parts[j.part]++
	s.both[both]++
	return true
}

// reserves tells whether a job may have a place in the future: not the young, those of
// little priority, and those behind the first of their partition.
func (s *slowPass) reserves(j *job) bool {
	return s.now-j.since >= int64(s.p.MinAgeReserve.Seconds()) && math.Mod(s.p.priority(j, s.now), tier) >= s.p.MinPrioReserve &&
		(s.p.PartCountReserve == 0 || s.ahead[j.part] < s.p.PartCountReserve)
}

// start lets a job run from now on.
func (s *slowPass) start(j *job, nodes []share) {
	s.runs = append(s.runs, slowStay{s.now, s.now + j.Limit, j.seq, j.Need, nodes})
	s.starts = append(s.starts, fmt.Sprint("start ", j.seq, nodes))
}

// keep gives a job a place.
func (s *slowPass) keep(j *job, from, to int64, nodes []share) {
	if s.ahead[j.part]++; j.array > 0 {
		s.arrays[j.array]++
	}
	s.places = append(s.places, slowStay{from: from, to: to, seq: j.seq, nodes: nodes})
	s.stays = append(s.stays, stayed(s.now, from, to, nodes))
}

// stayed tells of a place.
func stayed(now, from, to int64, nodes []share) string {
	on := []int32{}
	for _, part := range nodes {
		on = append(on, part.node)
	}
	slices.Sort(on)
	return fmt.Sprint("place ", from-now, " ", to-now, " ", on)
}

// fine makes places at each end.
func (s *slowPass) fine() {
	tried, started := 0, 0
	for i := range s.waiting {
		j := &s.waiting[i]
		if tried == s.p.MaxJobTest || s.p.MaxJobStart > 0 && started == s.p.MaxJobStart {
			return
		}
		if s.caps.over(j, s.runs, true) || !s.tries(j) {
			continue
		}
		if s.yield != nil && s.beside(j, s.now, j.limit) == nil && s.yield(j) {
			started++
			continue
		}
		at, nodes := s.earliest(j)
		switch {
		case at == s.now && s.caps.over(j, s.runs, false):
			continue
		case at == s.now: // what runs keeps its nodes for its own limit, not for a step of bf_resolution
			s.start(j, s.beside(j, at, j.Limit))
			started++
			continue
		case at < never && s.reserves(j):
			s.keep(j, at, at+j.limit, nodes)
		}
		tried++
	}
}

// earliest tries now and every time at which something ends.
func (s *slowPass) earliest(j *job) (at int64, nodes []share) {
	times := []int64{s.now}
	for _, list := range [][]slowStay{s.runs, s.places} {
		for _, r := range list {
			times = append(times, r.to)
		}
	}
	from, last := s.booked.may(j)
	times = append(append(times, from), s.booked.ends()...)
	slices.Sort(times)
	for _, at := range times {
		if at >= max(s.now, from) && at <= last && at < s.p.horizon(s.now) {
			if nodes := s.beside(j, at, j.limit); nodes != nil {
				return at, nodes
			}
		}
	}
	return never, nil
}

// beside chooses nodes for a job from a time on, beside what runs then and the places
// that begin before its end.
func (s *slowPass) beside(j *job, at, limit int64) []share {
	free := make([]int32, len(s.nodes))
	for n := range free {
		if j.Need.serves(int32(n)) && !s.kept(n, at, at+limit) {
			free[n] = s.room(n, at, j.Need)
		}
		if len(s.booked.list) > 0 && free[n] > 0 {
			free[n] = s.beneath(n, at, at+limit, j)
		}
	}
	return s.slowChoose(j, free)
}

// charted makes places behind groups of ends, as docs/scheduling.md tells.
func (s *slowPass) charted() {
	s.small = true
	tried, started := 0, 0
	for i := range s.waiting {
		j := &s.waiting[i]
		if tried >= s.p.MaxJobTest || s.p.MaxJobStart > 0 && started == s.p.MaxJobStart {
			return
		}
		if !s.caps.over(j, s.runs, true) && s.tries(j) {
			tried++
			at, nodes := s.grouped(j)
			if over := s.caps.over(j, s.runs, false); at == s.now && over {
				at = never
			} else if at == s.now {
				s.start(j, nodes)
				started++
				continue
			}
			if s.full(j, at, nodes) {
				return
			}
		}
		if j.array == 0 || s.p.Recent || i+1 < len(s.waiting) && s.waiting[i+1].array == j.array {
			continue
		}
		for k := range s.parked {
			if more := &s.parked[k]; more.array == j.array && !s.caps.over(more, s.runs, true) && s.tries(more) {
				tried++
				if at, nodes := s.grouped(more); at > s.now && s.full(more, at, nodes) {
					return
				}
			}
		}
	}
}

// full gives a job its place, where it has one; true: the table holds no more.
func (s *slowPass) full(j *job, at int64, nodes []share) bool {
	from, to := s.steps(at, at+j.Limit)
	switch {
	case at == never, !s.reserves(j):
	case s.records() >= s.p.NodeSpace:
		return true
	case from < to:
		s.begins[j.Task.ID] = at
		s.keep(j, from, to, nodes)
	default:
		s.arrays[j.array]++ // a place of no length is one nevertheless
		s.ahead[j.part]++
	}
	return false
}

// records counts those of the table of places: one, and one more for each time within the
// window at which a place begins or ends.
func (s *slowPass) records() int {
	seen := map[int64]bool{s.now: true}
	for _, p := range s.places {
		for _, at := range []int64{p.from, p.to} {
			if at > s.now && at < s.now+int64(s.p.Window.Seconds()) {
				seen[at] = true
			}
		}
	}
	return len(seen)
}

// steps are the begin and the end of a place.
func (s *slowPass) steps(from, to int64) (int64, int64) {
	step := int64(s.p.Resolution.Seconds())
	if s.p.Recent {
		to += step - 1
	}
	return max(s.now, from/step*step), to / step * step
}

// grouped tries now, each later time (see later), and the begins that are found on the
// way where a place keeps the nodes.
func (s *slowPass) grouped(j *job) (at int64, nodes []share) {
	window := s.now + int64(s.p.Window.Seconds()) + 1
	for from := s.now; from < window; {
		later := s.later(j, from)
		at, nodes := s.behind(j, from, later)
		at = max(at, from)
		begin, end := s.steps(at, at+j.Limit)
		taken := slices.ContainsFunc(nodes, func(part share) bool { return s.kept(int(part.node), begin, end) })
		switch {
		case nodes == nil || at > later:
			from = later
		case at == s.now || at < window && !taken:
			return at, nodes
		case at > from:
			from = at
		default:
			from = later
		}
	}
	return never, nil
}

// later is the next time at which Slurm looks for a place again: the end of the first
// record of its table, from a time on, behind which a node is open to the job that was not
// in all the records so far. never: there is none.
func (s *slowPass) later(j *job, from int64) int64 {
	edges := []int64{s.now}
	for _, p := range s.places {
		edges = append(edges, p.from, p.to)
	}
	slices.Sort(edges)
	edges = slices.DeleteFunc(slices.Compact(edges), func(at int64) bool {
		return at < s.now || at >= s.now+int64(s.p.Window.Seconds())
	})
	shut := make([]bool, len(s.nodes)) // in one of the records so far
	for i := range edges[:len(edges)-1] {
		if edges[i+1] <= from {
			continue
		}
		for n := range shut {
			shut[n] = shut[n] || s.kept(n, edges[i], edges[i]+1)
		}
		for n := range shut {
			if j.Need.serves(int32(n)) && shut[n] && !s.kept(n, edges[i+1], edges[i+1]+1) {
				return edges[i+1]
			}
		}
		if edges[i] > from+j.Limit {
			if i+2 < len(edges) {
				return edges[i+2]
			}
			break
		}
	}
	return never
}

// behind is when a job could start, now or behind a group of ends, on the nodes that no
// place keeps from a time on until its end, that moment included. 24.11 takes what ends
// before that time as gone, and nothing that ends later than the next time it would look.
func (s *slowPass) behind(j *job, from, later int64) (at int64, nodes []share) {
	open := make([]bool, len(s.nodes))
	for n := range open {
		open[n] = j.Need.serves(int32(n)) && !s.kept(n, from, from+j.Limit+1)
	}
	gone := map[int]bool{} // by place in runs
	choose := func() []share {
		free := make([]int32, len(s.nodes))
		for n := range free {
			if open[n] {
				free[n] = s.roomWithout(gone, n, j.Need)
			}
		}
		return s.slowChoose(j, free)
	}
	var ends []int
	for i, r := range s.runs {
		if r.to <= s.now || s.p.Recent && r.to < from {
			gone[i] = true
		} else {
			ends = append(ends, i)
		}
	}
	if nodes := choose(); nodes != nil {
		return s.now, nodes
	}
	slices.SortStableFunc(ends, func(a, b int) int {
		return cmp.Or(cmp.Compare(s.runs[a].to, s.runs[b].to), cmp.Compare(s.runs[a].seq, s.runs[b].seq))
	})
	if s.p.Recent {
		ends = slices.DeleteFunc(ends, func(i int) bool { return s.runs[i].to > later })
	}
	last := never // of the group
	first, reach := int64(0), int64(30)
	for k, i := range ends {
		r := s.runs[i]
		elsewhere := true
		for _, part := range r.nodes {
			elsewhere = elsewhere && !open[part.node]
		}
		if elsewhere {
			continue
		}
		gone[i] = true
		if first == 0 {
			first = (r.to/30 + 1) * 30
		}
		if last = r.to; k+1 < len(ends) && s.runs[ends[k+1]].to <= first+reach {
			continue
		}
		if nodes := choose(); nodes != nil {
			return last, nodes
		}
		last = never
		for more := true; more; more = k+1 < len(ends) && s.runs[ends[k+1]].to > first+reach {
			if s.p.WindowLinear > 0 {
				reach += int64(s.p.WindowLinear.Seconds())
			} else {
				reach += reach
			}
		}
	}
	if last < never { // all that is left ends elsewhere
		return last, choose()
	}
	return never, nil
}

// roomWithout is how many processors of a job a node can take beside what runs and is not gone.
func (s *slowPass) roomWithout(gone map[int]bool, node int, n *Need) int32 {
	all := s.runs
	s.runs = nil
	for i, r := range all {
		if !gone[i] {
			s.runs = append(s.runs, slowStay{0, never, r.seq, r.need, r.nodes})
		}
	}
	room := s.room(node, 0, n)
	s.runs = all
	return room
}
