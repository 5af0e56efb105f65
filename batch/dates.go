package batch

import "math/bits"

// dates are the days of a calendar in which a job may find a place: a bit for each, and
// one for the time behind them all. Where there is no calendar they are all days.
type dates struct {
	c  *calendar
	in []uint64
}

// on are no days yet of the calendar of a plan, in the same memory.
func (d *dates) on(p *nodePlan) {
	if d.c = nil; len(p.calendars) == 0 {
		return
	}
	d.c = p.calendars[0] // the days of all are the same
	if n := d.c.days/64 + 1; len(d.in) != n {
		d.in = make([]uint64, n)
	}
}

// add takes in the days of [from, to).
func (d *dates) add(from, to int64) {
	if d.c == nil {
		return
	}
	first, last := d.c.at(from), d.c.at(to-1)
	i, end := first>>6, last>>6
	for w := ^uint64(0) << (first & 63); i < end; w = ^uint64(0) {
		d.in[i] |= w
		i++
	}
	low := uint64(0)
	if first>>6 == end {
		low = 1<<(first&63) - 1
	}
	d.in[end] |= ^uint64(0) >> (63 - last&63) &^ low
}

// next is the first time on one of the days, at a time or later; never: there is none.
func (d *dates) next(at int64) int64 {
	if d == nil || d.c == nil {
		return at
	}
	day := d.c.at(at)
	i := day >> 6
	for w := d.in[i] >> (day & 63) << (day & 63); ; w = d.in[i] {
		if w != 0 {
			return max(at, d.c.base+d.c.day*int64(i<<6+bits.TrailingZeros64(w)))
		}
		if i++; i == len(d.in) {
			return never
		}
	}
}
