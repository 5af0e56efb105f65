package sim

import (
	"cmp"
	"slices"
)

// distribution are numbers of which many are equal, as waits in whole seconds are: each is kept once, with how often it came.
type distribution struct {
	seen  []counted64 // in order
	below []int       // of each of seen, how many came before it; made anew where it is asked for
	fresh []float64   // that came since
}

// counted64 is a number and how often it came.
type counted64 struct {
	value float64
	times int
}

// mostFresh is how many numbers come between two times that they are put in order.
const mostFresh = 1 << 14

// add takes a number in.
func (d *distribution) add(x float64) {
	if d.fresh = append(d.fresh, x); len(d.fresh) == mostFresh {
		d.settle()
	}
}

// settle puts what came since in its place.
func (d *distribution) settle() {
	slices.Sort(d.fresh)
	merged := make([]counted64, 0, len(d.seen)+len(d.fresh)/2)
	put := func(c counted64) {
		if last := len(merged) - 1; last >= 0 && merged[last].value == c.value {
			merged[last].times += c.times
			return
		}
		merged = append(merged, c)
	}
	old := d.seen
	for _, x := range d.fresh {
		for len(old) > 0 && old[0].value < x {
			put(old[0])
			old = old[1:]
		}
		put(counted64{x, 1})
	}
	for _, c := range old {
		put(c)
	}
	d.seen, d.fresh, d.below = merged, d.fresh[:0], nil
}

// at is the number at a place in their order, from 0 on.
func (d *distribution) at(place int) float64 {
	if len(d.fresh) > 0 {
		d.settle()
	}
	if d.below == nil {
		n := 0
		for _, c := range d.seen {
			d.below = append(d.below, n)
			n += c.times
		}
	}
	i, _ := slices.BinarySearchFunc(d.below, place+1, cmp.Compare[int])
	return d.seen[i-1].value
}
