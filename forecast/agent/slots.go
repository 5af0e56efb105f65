package agent

import (
	"cmp"
	"hash/fnv"
	"slices"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/wire"
)

// Chances are the shares of slots that held in the past: by how far ahead a
// slot begins, that it is free when it begins, and that it stays free.
type Chances struct {
	Ahead []time.Duration
	Start []float64
	Hold  []float64
}

// DefaultChances are those of replays of two real clusters with backfilling
// (KTH SP2 and CTC SP2 of the Parallel Workloads Archive) for slots of half an hour:
// Start is between what was free and what guests that were booked there found free,
// Hold is the lower of the two.
func DefaultChances() Chances {
	return Chances{
		Ahead: []time.Duration{0, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour},
		Start: []float64{0.99, 0.98, 0.96, 0.92, 0.87, 0.77},
		Hold:  []float64{0.86, 0.81, 0.77, 0.74, 0.68, 0.58},
	}
}

// at are the chances of a slot that begins so far ahead, between the points in
// proportion.
func (c Chances) at(ahead time.Duration) (start, hold float64) {
	for i, a := range c.Ahead {
		if ahead > a && i+1 < len(c.Ahead) {
			continue
		}
		if i == 0 || ahead >= a {
			return c.Start[i], c.Hold[i]
		}
		share := float64(ahead-c.Ahead[i-1]) / float64(a-c.Ahead[i-1])
		mid := func(v []float64) float64 { return round(v[i-1] + share*(v[i]-v[i-1])) }
		return mid(c.Start), mid(c.Hold)
	}
	return 1, 1
}

// toldChances are those by which slots were promised last, as the scheduler has them.
func toldChances(a *Agent) (list []wire.Chance) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, ahead := range a.chances.Ahead {
		list = append(list, wire.Chance{Ahead: int64(ahead / time.Second), Start: round(a.chances.Start[i])})
	}
	return list
}

// round keeps chances from changing with every second.
func round(v float64) float64 { return float64(int(v*50+0.5)) / 50 }

// gaps cuts the free time of every node into slots that do not overlap: a
// processor that is free for long is not cut where others come and go. The input
// is the steps of each node, as batch tells them.
func gaps(steps []batch.Slot, now time.Time, c Chances) []wire.Slot {
	byNode := map[string][]batch.Slot{}
	var names []string
	for _, s := range steps {
		if _, known := byNode[s.Node]; !known {
			names = append(names, s.Node)
		}
		byNode[s.Node] = append(byNode[s.Node], s)
	}
	slices.Sort(names)
	var list []wire.Slot
	for _, name := range names {
		list = append(list, layers(name, byNode[name], now, c)...)
	}
	return list
}

// layers takes processor after processor of a node: the k-th is free whenever
// at least k are. Equal neighbours make one slot.
func layers(node string, steps []batch.Slot, now time.Time, c Chances) (list []wire.Slot) {
	slices.SortFunc(steps, func(a, b batch.Slot) int { return a.From.Compare(b.From) })
	levels := []int{0}
	for _, s := range steps {
		levels = append(levels, s.CPUs)
	}
	slices.Sort(levels)
	levels = slices.Compact(levels)
	for k := 1; k < len(levels); k++ {
		for i := 0; i < len(steps); {
			if steps[i].CPUs < levels[k] {
				i++
				continue
			}
			from, to, memory := steps[i].From, steps[i].To, steps[i].Memory
			for i++; i < len(steps) && steps[i].CPUs >= levels[k] && steps[i].From.Equal(to); i++ {
				to, memory = steps[i].To, min(memory, steps[i].Memory)
			}
			share := memory * int64(levels[k]-levels[k-1]) / int64(levels[k])
			list = append(list, slot(node, from, to, levels[k]-levels[k-1], levels[k], share, now, c))
		}
	}
	return list
}

func slot(node string, from, to time.Time, cpus, level int, memory int64, now time.Time, c Chances) wire.Slot {
	s := wire.Slot{Node: node, CPUs: int32(cpus), Memory: max(0, memory), From: from.Unix()}
	if !to.IsZero() {
		s.To = to.Unix()
	}
	s.Start, s.Hold = c.at(from.Sub(now))
	h := fnv.New64a()
	h.Write([]byte(node))
	for _, v := range []int64{s.From, s.To, int64(level), int64(cpus)} {
		for shift := 0; shift < 64; shift += 8 {
			h.Write([]byte{byte(v >> shift)})
		}
	}
	s.ID = h.Sum64() >> 11 // exact in JSON and in any database
	return s
}

// hold makes slots that have begun already keep the beginning they were
// published with, so that time passing alone is no news.
func hold(next []wire.Slot, was *wire.Set, now int64) []wire.Slot {
	type key struct {
		node  string
		to    int64
		cpus  int32
		level int
	}
	begun, seen := map[key]wire.Slot{}, map[key]int{}
	var old []wire.Slot
	was.All(func(v wire.Slot) {
		if v.From <= now {
			old = append(old, v)
		}
	})
	slices.SortFunc(old, func(a, b wire.Slot) int { return cmp.Compare(a.ID, b.ID) })
	for _, v := range old {
		k := key{v.Node, v.To, v.CPUs, 0}
		k.level = seen[k]
		seen[key{v.Node, v.To, v.CPUs, 0}]++
		begun[k] = v
	}
	clear(seen)
	for i, v := range next {
		if v.From > now {
			continue
		}
		k := key{v.Node, v.To, v.CPUs, 0}
		k.level = seen[k]
		seen[key{v.Node, v.To, v.CPUs, 0}]++
		if o, ok := begun[k]; ok && o.Memory == v.Memory {
			o.Start, o.Hold = v.Start, v.Hold
			next[i] = o
		}
	}
	return next
}
