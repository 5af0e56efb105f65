package agent

import (
	"cmp"
	"slices"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/wire"
)

// DefaultSpare is what an owner keeps free, in percent, where he says nothing else.
const DefaultSpare = 10

// lack is a stretch of time in which processors are still to be found that are kept free.
type lack struct {
	from, to time.Time
	cpus     int
}

// spared takes out of the free time of nodes what is kept free for local jobs that are
// yet to come: a share of the processors that guests are let to, at every time, of the last nodes
// that have it. Where guests give way to local jobs nothing is kept.
func spared(c *Config, s batch.State, list []batch.Slot, now time.Time) []batch.Slot {
	cpus := 0
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.Up && c.lets(n) {
			cpus += n.CPUs
		}
	}
	keep := cpus * c.Spare / 100
	if keep <= 0 || c.Site.Start == wire.Partition {
		return list
	}
	end := now.Add(c.Horizon)
	slices.SortStableFunc(list, func(x, y batch.Slot) int { return cmp.Or(cmp.Compare(y.Node, x.Node), x.From.Compare(y.From)) })
	lacks := []lack{{now, end, keep}}
	var out []batch.Slot
	for len(list) > 0 && len(lacks) > 0 {
		n := 1
		for n < len(list) && list[n].Node == list[0].Node {
			n++
		}
		out, lacks = spare(out, list[:n], lacks, end)
		list = list[n:]
	}
	return append(out, list...)
}

// spare takes what is lacking out of the slots of one node, and tells what then still is.
func spare(out, slots []batch.Slot, lacks []lack, end time.Time) (left []batch.Slot, rest []lack) {
	until := func(v *batch.Slot) time.Time {
		if v.To.IsZero() {
			return end
		}
		return v.To
	}
	var times []time.Time
	for i := range slots {
		times = append(times, slots[i].From, until(&slots[i]))
	}
	for _, l := range lacks {
		times = append(times, l.from, l.to)
	}
	slices.SortFunc(times, time.Time.Compare)
	times = slices.CompactFunc(times, time.Time.Equal)
	for i := range len(times) - 1 {
		from, to := times[i], times[i+1]
		for len(slots) > 0 && !until(&slots[0]).After(from) {
			slots = slots[1:]
		}
		for len(lacks) > 0 && !lacks[0].to.After(from) {
			lacks = lacks[1:]
		}
		free, lacking := 0, 0
		if len(slots) > 0 && !slots[0].From.After(from) {
			free = slots[0].CPUs
		}
		if len(lacks) > 0 && !lacks[0].from.After(from) {
			lacking = lacks[0].cpus
		}
		taken := min(free, lacking)
		if free > taken {
			out = piece(out, slots[0], from, to, free-taken, end)
		}
		if lacking > taken {
			rest = append(rest, lack{from, to, lacking - taken})
		}
	}
	return out, rest
}

// piece adds the part of a slot with so many of its processors, to the one before it
// where nothing but time has gone by.
func piece(out []batch.Slot, v batch.Slot, from, to time.Time, cpus int, end time.Time) []batch.Slot {
	v.Memory = v.Memory * int64(cpus) / int64(v.CPUs)
	if v.From, v.To, v.CPUs = from, to, cpus; !to.Before(end) {
		v.To = time.Time{}
	}
	if k := len(out) - 1; k >= 0 && out[k].Node == v.Node && out[k].To.Equal(from) && out[k].CPUs == cpus && out[k].Memory == v.Memory {
		out[k].To = v.To
		return out
	}
	return append(out, v)
}
