package batch

// marks are what a calendar says, a bit for each node, day by day.
type marks struct {
	full []uint64 // at some moment
	shut []uint64 // all day
}

func newMarks(words int) marks { return marks{make([]uint64, words), make([]uint64, words)} }

// mark notes that a node is full in [from, to).
func (c *calendar) mark(m *marks, node int32, from, to int64) {
	if from >= to {
		return
	}
	first, last := c.at(from), min(c.at(to-1), c.days-1)
	whole, part := c.at(from+c.day-1), c.at(to) // the days from whole on, up to the one of part
	word, bit := int(node>>6), uint64(1)<<(node&63)
	for i := first*c.words + word; i <= last*c.words+word; i += c.words {
		m.full[i] |= bit
	}
	for i := whole*c.words + word; i < part*c.words+word; i += c.words {
		m.shut[i] |= bit
	}
}

// rub takes the marks of a node off in some days.
func (c *calendar) rub(m *marks, node int32, first, last int) {
	word, bit := int(node>>6), uint64(1)<<(node&63)
	for i := first*c.words + word; i <= min(last, c.days-1)*c.words+word; i += c.words {
		m.full[i] &^= bit
		m.shut[i] &^= bit
	}
}

// close notes when a node is closed.
func (list calendars) close(node int32, from, to int64) {
	if len(list) == 0 {
		return
	}
	c := list[0] // the days of all are the same
	if c.closed == nil {
		m := newMarks(len(c.full))
		for _, other := range list {
			other.closed = &m
		}
	}
	c.mark(c.closed, node, max(from, c.base), to)
}

// reopen takes that back, for one that is still closed at other times.
func (list calendars) reopen(node int32, from, to int64, others closures) {
	if len(list) == 0 || max(from, list[0].base) >= to {
		return
	}
	c := list[0]
	first, last := c.at(from), c.at(to-1)
	c.rub(c.closed, node, first, last)
	dawn, dusk := c.base+c.day*int64(first), c.base+c.day*int64(last+1)
	for _, k := range others {
		c.mark(c.closed, node, max(k.from, dawn), min(k.to, dusk))
	}
}
