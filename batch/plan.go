package batch

// plan knows which resources are free at which time: what running jobs hold
// until their limit, what reservations and planned jobs hold.
type plan interface {
	// earliest finds the earliest start of j in [from, before), for its
	// whole limit, or returns before where there is none.
	earliest(j *job, from, before int64) int64
	// earlier finds a start of j in [from, before) given that j now occupies
	// its planned place, or returns j.planned. before is at most j.planned.
	earlier(j *job, from, before int64) int64
	// fits tells whether j could start now.
	fits(j *job, now int64) bool
	// occupy takes what j needs for [from, to), which must be free.
	occupy(j *job, from, to int64)
	// vacate gives back what j occupies in [from, to).
	vacate(j *job, from, to int64)
	// move takes j from its place at the time was to the one planned.
	move(j *job, was int64)
	// windows lists what is free from now on, appending to ws[:0]. A job
	// that fits no window does not fit now; the reverse must be asked of fits
	// where exact is false.
	windows(now int64, ws windows) (list windows, exact bool)
	// bounds are the least and the most processors free at any time in
	// [from, to): no job of least or fewer can have found too few there, and
	// none of more than most finds enough.
	bounds(from, to int64) (least, most int32)
	// forget drops what is known of times before now.
	forget(now int64)
	// clone copies the plan, into the memory of an older copy unless nil.
	clone(into plan) plan
}

// pool is the plan of a machine whose processors are all alike and can be
// joined at will.
type pool struct{ *profile }

func newPool(from int64, procs int) pool { return pool{newProfile(from, procs)} }

func (p pool) clone(into plan) plan {
	old, _ := into.(pool)
	return pool{p.profile.clone(old.profile)}
}

func (p pool) earliest(j *job, from, before int64) int64 {
	if start := p.profile.earliest(from, before, never, j.limit, j.procs); start < before {
		return start
	}
	return before
}

func (p pool) fits(j *job, now int64) bool { return p.earliest(j, now, now+1) == now }

// earlier needs no lifting of j: where a start before j.planned reaches into
// j's own place, j's own processors are enough there.
func (p pool) earlier(j *job, from, before int64) int64 {
	if start := p.profile.earliest(from, before, j.planned, j.limit, j.procs); start < before {
		return start
	}
	return j.planned
}

func (p pool) occupy(j *job, from, to int64) { p.change(from, to, -j.procs) }
func (p pool) vacate(j *job, from, to int64) { p.change(from, to, j.procs) }

// move changes only what the two places do not share.
func (p pool) move(j *job, was int64) {
	end := j.planned + j.limit
	p.change(max(end, was), was+j.limit, j.procs)
	p.change(j.planned, min(end, was), -j.procs)
}

func (p pool) windows(now int64, ws windows) (windows, bool) {
	ws = ws[:0]
	b, i := p.locate(now)
	for level := p.value(b, i); level > 0; level = p.value(b, i) {
		if b, i = p.below(b, i, level); b == len(p.blocks) {
			return append(ws, window{level, never}), true
		}
		ws = append(ws, window{level, p.blocks[b].time[i] - now})
	}
	return ws, true
}
