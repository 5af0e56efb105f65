package wire

import (
	"cmp"
	"math"
	"slices"
)

// tenths is into how many parts of about the same number the processors that are
// foretold to be free at once are cut.
const tenths = 10

// Deep is a slot, or the part of one that is about as sure.
type Deep struct {
	Slot
	// Risk is how many times as often as in the mean it is expected to be gone when it
	// begins. When fewer processors are free than was foretold, those that were booked
	// last go first; and the more are foretold the fewer are gone.
	Risk float64
}

// riskOf is the risk of a processor by the share, 0 to 1, of those foretold to be free
// that come before it, and by those that come behind it as a share of the cluster. In
// replays of KTH SP2 and SDSC SP2 with all booked an hour ahead, bookings were missed
// in proportion to either, the second falling by half for each quarter of the cluster;
// they go together, and so less of both is told.
func riskOf(before, behind float64) float64 {
	return math.Pow((0.1+1.8*before)*1.95*math.Exp(-behind/0.37), 0.375)
}

// Deepen cuts slots, which busy was taken out of, by how deep they lie among all that is
// foretold to be free when they begin, of a cluster of so many processors. What is booked
// comes before what is left. Nothing begins before a time, seconds of Unix time. The
// surest are the last: of equals planners take those first.
func Deepen(slots []Slot, busy map[string][]Use, from int64, cpus int) []Deep {
	list := make([]Deep, 0, len(slots)+tenths)
	order, begun, ended := make([]step, 0, len(slots)), make(walk, 0, len(slots)), make(walk, 0, len(slots))
	var taken, given walk
	for i := range slots {
		v := &slots[i]
		if v.Priority > 0 || v.To != 0 && v.To <= from {
			list = append(list, Deep{*v, 1})
			continue
		}
		begin := max(v.From, from)
		order, begun = append(order, step{begin, int64(i)}), append(begun, step{begin, int64(v.CPUs)})
		if v.To != 0 {
			ended = append(ended, step{v.To, int64(v.CPUs)})
		}
	}
	slices.SortFunc(order, func(a, b step) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.n, b.n)) })
	for _, uses := range busy {
		for _, u := range uses {
			taken, given = append(taken, step{u.From, int64(u.CPUs)}), append(given, step{u.To, int64(u.CPUs)})
		}
	}
	free, gone, booked, over := begun.sum(), ended.sum(), taken.sum(), given.sum()
	passed, most := int64(0), len(list)+maxDeepened
	for i, s := range order {
		v := &slots[s.n]
		before := booked.until(s.at) - over.until(s.at) - gone.until(s.at)
		list = v.cut(list, most+i, passed+before, free.until(s.at)+before, cpus)
		passed += int64(v.CPUs)
	}
	slices.Reverse(list)
	return list
}

// maxDeepened is how many more parts there are than slots at most: then slots are left whole.
const maxDeepened = 100_000

// cut cuts a slot of which so many processors come before, of so many in all; into no more than make the list most.
func (s *Slot) cut(list []Deep, most int, before, all int64, cpus int) []Deep {
	for left := int64(s.CPUs); left > 0; {
		tenth := min(tenths-1, max(0, (2*before+1)*tenths/(2*max(1, all))))
		n := left
		if tenth < tenths-1 && len(list) < most { // up to the first processor whose middle lies in the next
			n = min(left, max(1, (2*(tenth+1)*all+tenths-1)/(2*tenths)-before))
		}
		part := *s
		part.CPUs, part.Memory = int32(n), max(min(1, s.Memory), s.Memory*n/int64(s.CPUs))
		middle := float64(before) + float64(n)/2
		list = append(list, Deep{part, riskOf(middle/float64(max(1, all)), (float64(all)-middle)/float64(max(1, cpus)))})
		before, left = before+n, left-n
	}
	return list
}

// walk is a list of amounts by time, step one of them.
type (
	walk []step
	step struct{ at, n int64 } // n is an amount, or a place
)

// sum adds a walk up from its beginning on, as time goes by.
type sum struct {
	walk walk
	n    int64
}

func (w walk) sum() *sum {
	slices.SortFunc(w, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	return &sum{walk: w}
}

// until is the sum of what comes until a time, which is none before the last asked for.
func (s *sum) until(at int64) int64 {
	for len(s.walk) > 0 && s.walk[0].at <= at {
		s.n += s.walk[0].n
		s.walk = s.walk[1:]
	}
	return s.n
}
