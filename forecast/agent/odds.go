package agent

import (
	"cmp"
	"math"
	"slices"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/wire"
)

// slotOdds learns how often slots hold, from those that this agent published: by
// how far ahead a slot begins, whether it was free when it began, and whether it
// stayed free for half an hour, or its own length where that is less. It goes on
// from the Chances of the configuration, which count as much as so many slots.
type slotOdds struct {
	Tallies []tally       `json:"tallies"` // by place in Chances.Ahead
	Open    []watchedSlot `json:"open"`    // whose outcome is still to come
	Turn    uint64        `json:"turn"`    // counts draws

	prior   Chances
	current Chances
	made    time.Time // when current was
	drawn   time.Time
}

// tally counts slots, older ones less.
type tally struct {
	N     float64 `json:"n"`
	Began float64 `json:"began"` // free when they began
	Held  float64 `json:"held"`  // and for as long as they were watched
}

// watchedSlot is a slot published some time ahead.
type watchedSlot struct {
	Node  string `json:"node"`
	Level int    `json:"level"` // processors of the node that are free if this slot is
	Ahead int    `json:"ahead"` // place in Chances.Ahead
	From  int64  `json:"from"`
	Until int64  `json:"until"`
	Began bool   `json:"began,omitempty"`
	// Weight is what it counts for in a tally, 0 to 1; 0: 1.
	Weight float64 `json:"weight,omitempty"`
	cpus   uint64
}

const (
	slotPrior   = 50               // slots that the configured chances count for
	slotsLately = 500              // slots that a tally is of
	slotWatched = 30 * time.Minute // how long a slot is watched
	slotDraw    = 30 * time.Second // one slot of each kind is drawn so often
	slotAlike   = 2 * time.Minute  // those drawn within this, or the time ahead, count for one
	slotMissed  = 5 * time.Minute  // looks further apart tell nothing
	slotRenewed = 10 * time.Minute // published chances change no more often
)

func newSlotOdds(prior Chances) *slotOdds {
	return &slotOdds{Tallies: make([]tally, len(prior.Ahead)), prior: prior}
}

// recall takes in what was learned before.
func (o *slotOdds) recall(was *slotOdds) {
	if was != nil && len(was.Tallies) == len(o.Tallies) {
		o.Tallies, o.Open, o.Turn = was.Tallies, was.Open, was.Turn
		o.Open = slices.DeleteFunc(o.Open, func(w watchedSlot) bool { return w.Ahead < 0 || w.Ahead >= len(o.Tallies) })
	}
}

// chances are those to publish: what was learned, as of some minutes ago at most.
func (o *slotOdds) chances(now time.Time) Chances {
	if o.made.IsZero() || now.Sub(o.made) >= slotRenewed || now.Before(o.made) {
		o.current, o.made = o.learned(), now
	}
	return o.current
}

func (o *slotOdds) learned() Chances {
	c := Chances{Ahead: o.prior.Ahead, Start: slices.Clone(o.prior.Start), Hold: slices.Clone(o.prior.Hold)}
	for i, t := range o.Tallies {
		c.Start[i] = (slotPrior*c.Start[i] + t.Began) / (slotPrior + t.N)
		c.Hold[i] = (slotPrior*c.Hold[i] + t.Held) / (slotPrior + t.N)
	}
	return c
}

// watch draws, for each time ahead, one of the processors that are about to be
// published as free then: of a slot that begins then, or goes on.
func (o *slotOdds) watch(slots []wire.Slot, now time.Time) {
	if now.Sub(o.drawn) < slotDraw && !now.Before(o.drawn) {
		return
	}
	since := now.Sub(o.drawn)
	o.drawn = now
	for k, ahead := range o.prior.Ahead {
		list, cpus := coverOf(slots, now.Add(ahead).Unix())
		if len(list) == 0 {
			continue
		}
		o.Turn++
		n := o.Turn * 0x9e3779b97f4a7c15 >> 33 % cpus
		i := 0
		for ; n >= list[i].cpus; i++ {
			n -= list[i].cpus
		}
		w := list[i]
		w.Ahead, w.Weight = k, min(1, max(0.01, since.Seconds()/max(ahead, slotAlike).Seconds()))
		o.Open = append(o.Open, w)
	}
}

// coverOf lists the slots that are there at a time, each as it is watched from then
// on, and counts their processors.
func coverOf(slots []wire.Slot, at int64) (list []watchedSlot, cpus uint64) {
	for i := range slots {
		v := &slots[i]
		if v.From > at || v.To != 0 && v.To <= at {
			continue
		}
		w := watchedSlot{Node: v.Node, Level: int(v.CPUs), From: at, Until: at + int64(slotWatched/time.Second), cpus: uint64(v.CPUs)}
		if v.To > 0 {
			w.Until = min(w.Until, v.To)
		}
		if last := len(list) - 1; last >= 0 && list[last].Node == v.Node { // with those before it
			w.Level += list[last].Level
		}
		list, cpus = append(list, w), cpus+w.cpus
	}
	return list, cpus
}

// look takes in what is free now. What guests have is: they are what slots are for.
// To leave out nodes where guests are would leave those where none found room.
func (o *slotOdds) look(s batch.State, booked []wire.Booking, now time.Time) {
	if len(o.Open) == 0 {
		return
	}
	free := freeNow(s)
	if free == nil {
		o.Open = nil
		return
	}
	for _, b := range booked {
		for _, p := range b.Slots {
			if n, known := free[p.Node]; known && b.Running {
				free[p.Node] = n + int(p.CPUs)
			}
		}
	}
	kept, at := 0, now.Unix()
	for i := range o.Open { // hundreds, of which few are over: they stay where they are
		if w := &o.Open[i]; w.From > at || !o.outcome(w, free, at) {
			if kept < i {
				o.Open[kept] = *w
			}
			kept++
		}
	}
	clear(o.Open[kept:])
	o.Open = o.Open[:kept]
}

// outcome tells whether nothing more is to be learned from a slot that has begun.
func (o *slotOdds) outcome(w *watchedSlot, free map[string]int, now int64) bool {
	n, known := free[w.Node]
	late := now - w.From
	switch {
	case !known, !w.Began && late > int64(slotMissed/time.Second):
		return true
	case n < w.Level && now < w.Until:
		o.count(w, w.Began, false)
		return true
	case now >= w.Until:
		o.count(w, true, true)
		return true
	}
	w.Began = true
	return false
}

func (o *slotOdds) count(w *watchedSlot, began, held bool) {
	t, weight := &o.Tallies[w.Ahead], cmp.Or(w.Weight, 1)
	if t.N >= slotsLately {
		keep := 1 - weight/t.N
		t.N, t.Began, t.Held = t.N*keep, t.Began*keep, t.Held*keep
	}
	t.N += weight
	if began {
		t.Began += weight
	}
	if held {
		t.Held += weight
	}
}

// freeNow counts the free processors of the nodes that are up; of none where it is
// not known on which of several nodes jobs run.
func freeNow(s batch.State) map[string]int {
	free := make(map[string]int, len(s.Nodes))
	for i := range s.Nodes {
		if s.Nodes[i].Up {
			free[s.Nodes[i].Name] = s.Nodes[i].CPUs
		}
	}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		placed := j.Placed
		if len(placed) == 0 && !j.Started.IsZero() {
			if len(s.Nodes) != 1 {
				return nil
			}
			placed = []batch.Placement{{Node: s.Nodes[0].Name, Procs: j.Procs}}
		}
		for _, p := range placed {
			if _, up := free[p.Node]; up && !j.Started.IsZero() {
				free[p.Node] -= p.Procs
				if j.Exclusive {
					free[p.Node] = 0
				}
			}
		}
	}
	return free
}

// bookedNow is what is booked here.
func bookedNow(a *Agent) []wire.Booking {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.booked
}

// begunNow marks as running what is due and of whose size a job has begun since: the
// scheduler tells it later, and a guest that has just begun would look like a local job.
func begunNow(booked []wire.Booking, s batch.State, now time.Time) []wire.Booking {
	due := func(b *wire.Booking) bool { return !b.Running && b.From <= now.Unix() && now.Unix() < b.To }
	if !slices.ContainsFunc(booked, func(b wire.Booking) bool { return due(&b) }) {
		return booked
	}
	list, earliest := slices.Clone(booked), int64(math.MaxInt64)
	var known []*wire.Booking // that the scheduler says run: their jobs are no others'
	for i := range list {
		switch {
		case due(&list[i]):
			earliest = min(earliest, list[i].From)
		case booked[i].Running:
			known = append(known, &booked[i])
		}
	}
	known = slices.DeleteFunc(known, func(b *wire.Booking) bool { return b.From+60 < earliest }) // a minute late at most
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if j.Started.IsZero() || j.Started.Unix() < earliest {
			continue
		}
		if k := slices.IndexFunc(known, func(b *wire.Booking) bool { return isRunningGuest(j, b) }); k >= 0 {
			known = slices.Delete(known, k, k+1)
			continue
		}
		k := slices.IndexFunc(list, func(b wire.Booking) bool {
			return due(&b) && int(b.Procs) == j.Procs && b.From <= j.Started.Unix()
		})
		if k >= 0 {
			list[k].Running = true
		}
	}
	return list
}
