package batch

// releases are the times at which something comes free.
type releases struct {
	waiting           // the job of an entry is the place in parts of what does
	parts   [][]share // by place
	spares  []int32   // places there that are not in use
}

// clone copies the releases into the memory of an older copy.
func (r *releases) clone(old releases) releases {
	return releases{r.waiting.clone(old.waiting), append(old.parts[:0], r.parts...), append(old.spares[:0], r.spares...)}
}

// add notes that what an owner has on nodes comes free.
func (r *releases) add(at, owner int64, shares []share) {
	if at >= never {
		return
	}
	i := int32(len(r.parts))
	if n := len(r.spares); n > 0 {
		i, r.spares = r.spares[n-1], r.spares[:n-1]
		r.parts[i] = shares
	} else {
		r.parts = append(r.parts, shares)
	}
	r.insert(entry{key: float64(at), seq: owner, job: i})
}

// remove takes that back.
func (r *releases) remove(at, owner int64) {
	if here, ok := r.find(entry{key: float64(at), seq: owner}); ok {
		r.pass(here)
	}
}

// pass takes a release out.
func (r *releases) pass(here place) {
	i := r.blocks[here.b].jobs[here.i].job
	r.parts[i] = nil
	r.spares = append(r.spares, i)
	r.removeAt(here)
}

// forget takes those before a time out.
func (r *releases) forget(now int64) {
	for e, ok := r.head(); ok && e.key < float64(now); e, ok = r.head() {
		r.pass(place{})
	}
}

// after is the place of the first release after a time.
func (r *releases) after(at int64) place {
	here, _ := r.find(entry{key: float64(at + 1), seq: -never})
	return here
}
