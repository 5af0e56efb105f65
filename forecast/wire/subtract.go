package wire

import (
	"math"
	"slices"
)

// Use is what is booked of a node: processors from a time to a time, seconds of
// Unix time, of a slot that was there when it was booked.
type Use struct {
	Slot     uint64
	From, To int64
	CPUs     int32
}

// Uses are what bookings take, by node.
func Uses(list []Booking) map[string][]Use {
	of := map[string][]Use{}
	for _, b := range list {
		for _, p := range b.Slots {
			of[p.Node] = append(of[p.Node], Use{p.Slot, b.From, b.To, p.CPUs})
		}
	}
	return of
}

// Subtract takes what is booked, by node, out of slots.
func Subtract(slots []Slot, busy map[string][]Use) []Slot {
	if len(busy) == 0 {
		return slots
	}
	byNode := map[string][]Slot{}
	var list []Slot
	for _, v := range slots {
		if len(busy[v.Node]) == 0 {
			list = append(list, v)
		} else {
			byNode[v.Node] = append(byNode[v.Node], v)
		}
	}
	names := make([]string, 0, len(byNode))
	for name := range byNode {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		list = append(list, cutAll(byNode[name], busy[name])...)
	}
	return list
}

// A node's slots are cut as long as they are fewer than maxPieces, and maxCut at most are looked at for all of its
// bookings together: twice what single processors need of a node that has four thousand.
const (
	maxPieces = 250_000
	maxCut    = 20_000_000
)

// cutAll takes bookings out of the slots of their node. Where these are too many for that nothing is left of them:
// slots that overlap at the ends of bookings are cut by each, and grow with the product of their numbers.
func cutAll(slots []Slot, busy []Use) []Slot {
	looked, room := 0, make([]Slot, 0, len(slots)+2*len(busy))
	for _, u := range busy {
		if looked += len(slots); looked > maxCut || len(slots) > maxPieces {
			return nil
		}
		slots, room = u.cut(room[:0], slots), slots
	}
	return slots
}

// cut takes one booking out of the slots of its node, out of its own slot first, and adds what is left to a list.
func (u Use) cut(list, slots []Slot) []Slot {
	left := u.CPUs
	for _, own := range [...]bool{true, false} {
		for i := range slots {
			v := &slots[i]
			if (v.ID == u.Slot) != own {
				continue
			}
			end := v.To
			if end == 0 {
				end = math.MaxInt64
			}
			if left <= 0 || v.From >= u.To || end <= u.From {
				list = append(list, *v)
				continue
			}
			n := min(left, v.CPUs)
			if v.From <= u.From && end >= u.To {
				left -= n
			}
			list = v.pieces(list, end, u, n)
		}
	}
	return list
}

// pieces adds to a list what is left of a slot of which n processors are taken for a time.
func (s *Slot) pieces(list []Slot, end int64, u Use, n int32) []Slot {
	if beside := *s; beside.CPUs > n {
		beside.CPUs -= n
		list = append(list, beside)
	}
	if before := *s; s.From < u.From {
		before.CPUs, before.To = n, u.From
		list = append(list, before)
	}
	if after := *s; end > u.To {
		after.CPUs, after.From = n, u.To
		list = append(list, after)
	}
	return list
}
