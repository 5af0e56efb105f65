package maui

import (
	"cmp"
	"slices"
)

// moment is a time and how many processors are free from then on.
type moment struct{ at, free int64 }

// bucket is the group of reservations that a job belongs to; -1: none.
func (r *run) bucket(j *job) int {
	return slices.IndexFunc(r.Config.Buckets, func(b Bucket) bool {
		return b.Depth > 0 && (!b.Named || slices.Contains(b.QOS, j.qosName))
	})
}

// reserve gives a job that cannot start a priority reservation; false: it gets
// none.
func (r *run) reserve(j *job) bool {
	c := r.Config
	if slices.Contains(j.qos.Flags, "NORESERVATION") || c.Backfill == "PREEMPT" {
		return false
	}
	if c.Backfill == "NONE" || c.ReservationPolicy == "NEVER" {
		if r.keep(j) { // only to see whether it could ever run
			r.release(j)
		}
		return false
	}
	b := r.bucket(j)
	if j.reserved != nil || b < 0 || r.counted[b] >= c.Buckets[b].Depth || !r.deserves(j) || !r.keep(j) {
		return false
	}
	j.wanted = true
	r.counted[b]++
	return true
}

// deserves tells whether a job has waited or been overtaken enough.
func (r *run) deserves(j *job) bool {
	value := r.Config.ThresholdValue
	switch r.Config.Threshold {
	case "BYPASS":
		return j.bypass > value
	case "QUEUETIME":
		return r.now-j.since > value
	case "XFACTOR":
		return (r.now-j.since+j.Limit)/max(1, j.Limit) > value
	}
	return true
}

// keep reserves the earliest time and nodes for a job; one that can never run
// is deferred.
func (r *run) keep(j *job) bool {
	r.release(j)
	at, list, part := int64(never), []placed(nil), (*part)(nil)
	for i := range r.parts {
		if p := &r.parts[i]; j.mayUse(p) && p.procs >= j.procs {
			if t, l := r.earliest(j, p, at); t < at {
				at, list, part = t, l, p
			}
		}
	}
	if part == nil {
		r.deferJob(j)
		return false
	}
	tasks, ok := r.allocate(j, list, at)
	if ok {
		tasks, ok = distribute(j, tasks)
	}
	if !ok {
		return false
	}
	j.limit = planned(j.Limit, tasks)
	j.reserved = &kept{at, tasks}
	for _, t := range tasks {
		t.node.hold(held{from: at, to: at + j.limit, amount: r.part(j, t), job: j})
	}
	r.sums = nil
	return true
}

// release gives a reservation up.
func (r *run) release(j *job) {
	if j.reserved == nil {
		return
	}
	for _, t := range j.reserved.tasks {
		t.node.unhold(j)
	}
	j.reserved, r.sums = nil, nil
}

// earliest finds the first time before another at which a partition has room
// for a job's whole limit, and the nodes that do.
func (r *run) earliest(j *job, p *part, before int64) (int64, []placed) {
	var nodes []*node
	for _, n := range p.nodes {
		if r.feasible(j, n) {
			nodes = append(nodes, n)
		}
	}
	first := max(r.now, j.earliest, j.Begin)
	var f *finder
	for _, m := range r.moments(first) {
		if m.at >= before {
			break
		}
		if m.free < j.procs {
			continue
		}
		if m.at > r.now && f == nil {
			f = r.finder(j, nodes)
		}
		if f != nil && !f.move(m.at) {
			continue
		}
		if list, ok := r.at(j, nodes, m.at); ok {
			return m.at, list
		}
	}
	return never, nil
}

// at lists the nodes with room for a job at a time, and whether there are
// enough.
func (r *run) at(j *job, nodes []*node, at int64) (list []placed, ok bool) {
	tasks := int64(0)
	for _, n := range nodes {
		if at == r.now && !n.usable() {
			continue
		}
		count, _ := r.opening(j, n, at)
		if count <= 0 {
			continue
		}
		list = append(list, placed{n, count})
		tasks += count
	}
	hosts := len(j.Hosts) == 0 || len(list) == len(nodes)
	return list, tasks >= j.Tasks && int64(len(list)) >= j.Nodes && hosts && len(list) > 0
}

// moments lists the times from one on at which something changes, with the
// processors that are free then.
func (r *run) moments(from int64) []moment {
	if r.sums == nil {
		var events []moment
		for _, n := range r.nodes {
			events = append(events, moment{0, n.have.procs})
			for _, h := range n.holds {
				if h.job != nil {
					events = append(events, moment{h.from, -h.amount.procs}, moment{h.to, h.amount.procs})
				}
			}
		}
		slices.SortFunc(events, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
		free := int64(0)
		for i, e := range events {
			free += e.free
			if i+1 == len(events) || events[i+1].at != e.at {
				r.sums = append(r.sums, moment{e.at, free})
			}
		}
	}
	i, found := slices.BinarySearchFunc(r.sums, from, func(m moment, t int64) int { return cmp.Compare(m.at, t) })
	if found {
		return r.sums[i:]
	}
	list := []moment{{from, 0}}
	if i > 0 {
		list[0].free = r.sums[i-1].free
	}
	return append(list, r.sums[i:]...)
}

// startReserved renews the reservations of the last iteration by
// RESERVATIONPOLICY and starts those that are due.
func (r *run) startReserved(list []*job) {
	for _, j := range list {
		if j.State != JobIdle {
			continue
		}
		always := slices.Contains(j.qos.Flags, "RESERVEALWAYS") || slices.Contains(j.qos.Flags, "RESERVED")
		if !always && (!j.wanted || r.Config.ReservationPolicy != "HIGHEST") {
			continue
		}
		if !r.keep(j) || j.reserved.from > r.now {
			continue
		}
		if !r.within(j, false, limitsActive) {
			r.deferJob(j)
			continue
		}
		for i := range r.parts {
			p := &r.parts[i]
			if found, ok := r.selectNodes(j, p, nil, j.preemptor); ok && j.mayUse(p) && r.tryStart(j, found) {
				break
			}
		}
	}
}
