package batch

// ahead is which nodes are full in the days that a job would last, kept from one day that
// it might begin in to the next: those full on a day before a pivot or on a later one up to
// that, and those full on one from it on. So a day more costs two days to look at, and not
// all that the job lasts.
type ahead struct {
	asked int      // days, in this search
	first int      // the first that rest is of
	pivot int      // rest is of those before it
	end   int      // more is of those from the pivot on, before this one
	rest  []uint64 // of each day from first on, and of the pivot
	more  []uint64
}

// pass is close for days in their order: neither first nor last goes back in a search.
func (c *calendar) pass(first, last int) {
	a := &c.ahead
	if a.asked++; a.asked == 1 { // most searches end here
		c.close(first, last)
		return
	}
	if a.asked == 2 || first > a.pivot {
		c.prepare(first, last)
	}
	for ; a.end < last; a.end++ {
		c.add(a.more, a.end)
	}
	rest := a.rest[(first-a.first)*c.words:]
	rest = rest[:len(c.open)]
	for i := range c.open {
		c.open[i] |= rest[i] | a.more[i]
	}
}

// prepare makes the last of some days the pivot.
func (c *calendar) prepare(first, last int) {
	a := &c.ahead
	last = max(first, last)
	a.first, a.pivot, a.end = first, last, last
	if n := (last - first + 1) * c.words; cap(a.rest) < n {
		a.rest = make([]uint64, n)
	} else {
		a.rest = a.rest[:n]
	}
	if a.more == nil {
		a.more = make([]uint64, c.words)
	}
	clear(a.more)
	clear(a.rest[len(a.rest)-c.words:])
	for d := last - 1; d >= first; d-- {
		today := a.rest[(d-first)*c.words : (d-first+2)*c.words]
		copy(today, today[c.words:])
		c.add(today[:c.words], d)
	}
}

// add takes in the nodes that are full on a day.
func (c *calendar) add(nodes []uint64, day int) {
	full := c.full[day*c.words:]
	full = full[:len(nodes)]
	if c.closed == nil {
		for i := range nodes {
			nodes[i] |= full[i]
		}
		return
	}
	closed := c.closed.full[day*c.words:]
	closed = closed[:len(nodes)]
	for i := range nodes {
		nodes[i] |= full[i] | closed[i]
	}
}
