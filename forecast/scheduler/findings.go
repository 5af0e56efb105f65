package scheduler

// findings are what was told of the jobs at the sites in the last round of all, in the order in which they are asked about: little
// comes between two from round to round, so most are found behind the one before, without a search by name.
type findings struct {
	was, is []finding
	next    int // in was
	off     bool
}

// finding is what was told of one of them.
type finding struct {
	of *placed
	mark
}

// findOn is behind how many that are gone the next is still found in its order.
const findOn = 8

// begin begins a round, of all jobs or of those of some sites. After one of some there are none.
func (f *findings) begin(all bool) {
	f.was, f.is, f.next, f.off = f.is, f.was[:0], 0, !all
	if f.off {
		f.was = f.was[:0]
	}
}

// of is what was told of a job; false: it is not here.
func (f *findings) of(p *placed) (m mark, known bool) {
	for k := f.next; k < min(f.next+findOn, len(f.was)); k++ {
		if f.was[k].of == p {
			f.next = k + 1
			return f.was[k].mark, true
		}
	}
	return m, false
}

// add keeps what is told of a job in a round of all.
func (f *findings) add(p *placed, m mark) {
	if !f.off {
		f.is = append(f.is, finding{p, m})
	}
}
