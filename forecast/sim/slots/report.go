package slots

// judge takes in what came of a moment.
func (t *trial) judge(m *moment) {
	r := &t.rows[m.row]
	of := func(n int) float64 { return float64(min(n, m.procs)) }
	r.all++
	r.Published += float64(m.procs)
	r.Idle += float64(m.free)
	r.Found += of(m.free)
	if m.procs <= 0 {
		return
	}
	r.Judged++
	if m.free >= 1 {
		r.One++
	}
	r.Held += of(m.free)
	r.Began += of(m.atStart)
	r.Withdrawn += float64(m.procs) - of(m.now)
	r.Chance += m.chance * float64(m.procs)
}

// report makes parts of the sums.
func (t *trial) report() []Row {
	for i := range t.rows {
		r := &t.rows[i]
		r.Looks = t.looks
		for _, sum := range []*float64{&r.Held, &r.Began, &r.Withdrawn, &r.Chance} {
			*sum = part(*sum, r.Published)
		}
		r.Found, r.One = part(r.Found, r.Idle), part(r.One, float64(r.Judged))
		r.Published, r.Idle = part(r.Published, float64(r.all)), part(r.Idle, float64(r.all))
	}
	return t.rows
}

// part is one sum over another; of nothing it is 0.
func part(sum, of float64) float64 {
	if of == 0 {
		return 0
	}
	return sum / of
}
