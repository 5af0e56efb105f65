package maui

import "slices"

// desk gives reservations to waiting jobs and takes them back.
type desk struct {
	*planner
	counted []int // by bucket in this walk
}

// bucket is the group of reservations that a job belongs to; -1: none.
func (r *desk) bucket(j *job) int {
	return slices.IndexFunc(r.Config.Buckets, func(b Bucket) bool {
		return b.Depth > 0 && (!b.Named || slices.Contains(b.QOS, j.qosName))
	})
}

// reserve gives a job that cannot start a priority reservation; false: it gets
// none.
func (r *desk) reserve(j *job) bool {
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
func (r *desk) deserves(j *job) bool {
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
func (r *desk) keep(j *job) bool {
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
		part := r.part(j, t)
		t.node.hold(held{from: at, to: at + j.limit, amount: part, job: j})
		r.taken(at, at+j.limit, part.procs)
	}
	return true
}

// release gives a reservation up.
func (r *desk) release(j *job) {
	if j.reserved == nil {
		return
	}
	from := j.reserved.from
	for _, t := range j.reserved.tasks {
		t.node.unhold(j)
		r.given(from, from+j.limit, r.part(j, t).procs)
	}
	j.reserved = nil
}

// deferJob holds a job back for a while; it loses its reservation.
func (r *desk) deferJob(j *job) {
	r.postpone(j)
	r.release(j)
}
