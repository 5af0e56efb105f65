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
		for sum, over := range map[*float64]float64{&r.Found: r.Idle, &r.Held: r.Published, &r.Began: r.Published, &r.Withdrawn: r.Published,
			&r.Chance: r.Published, &r.One: float64(r.Judged)} {
			if over > 0 {
				*sum /= over
			}
		}
		for _, mean := range []*float64{&r.Published, &r.Idle} {
			*mean /= float64(max(r.all, 1))
		}
	}
	return t.rows
}
