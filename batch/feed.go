package batch

import (
	"maps"
	"slices"
	"time"
)

// Offer is a slot with a number that stays its own while it changes.
type Offer struct {
	ID int64 `json:"id"`
	Slot
}

// SlotChange is one entry of a Live's change feed.
type SlotChange struct {
	Version int64       `json:"version"` // of the list that it led to
	Kind    SlotChanged `json:"kind"`
	Offer               // as it is; of a withdrawn one as it was
}

// SlotChanged says what became of a slot.
type SlotChanged string

// What becomes of slots. One whose time is over passes without a word.
const (
	SlotAdded     SlotChanged = "added"
	SlotMoved     SlotChanged = "moved" // begins, ends or offers otherwise than before
	SlotWithdrawn SlotChanged = "withdrawn"
)

// keptChanges bounds the feed.
const keptChanges = 1 << 16

// feed is the list of slots as it was last asked for, and how it became so.
type feed struct {
	version int64
	lastID  int64
	offers  []Offer // by node and time
	log     []SlotChange
	from    int64 // the log begins after this version
	current bool  // offers are of the present, up to the horizon
	horizon time.Duration
	run     *forward // the memory of the last run
}

// Slots lists the expected free time of the present up to the horizon, which is
// to be the same in every call, and the version of the list. What has changed
// since a version Changes says. The schedule is worked out as far as the horizon
// alone, and not at all where nothing has happened.
func (l *Live) Slots(horizon time.Duration) ([]Offer, int64) {
	if l.fresh(); !l.feed.current || l.feed.horizon != horizon {
		var out *Forecast
		out, l.feed.run = l.f.before(l.c, l.c.now+int64(horizon/time.Second), l.feed.run)
		l.feed.take(out.Slots(horizon), l.Now())
		l.feed.current, l.feed.horizon = true, horizon
	}
	return slices.Clone(l.feed.offers), l.feed.version
}

// Earliest says when a job of each size would start if it were submitted now. It
// costs a run of the schedule up to that start for each.
func (l *Live) Earliest(sizes []Size) []time.Time {
	l.fresh()
	return (&Forecast{At: l.Now(), Cluster: l.c.state.Cluster, c: l.c, f: l.f}).Earliest(sizes)
}

// Changes lists what has become of the slots since a version; false: that is
// too long ago, take the whole list.
func (l *Live) Changes(since int64) ([]SlotChange, bool) {
	f := &l.feed
	if since < f.from || since > f.version {
		return nil, false
	}
	i, _ := slices.BinarySearchFunc(f.log, since+1, func(c SlotChange, v int64) int { return int(c.Version - v) })
	return slices.Clone(f.log[i:]), true
}

// take takes in a new list. Nodes come in the order in which they came before as
// long as it is known what they are; those of which nothing has changed cost a
// comparison.
func (f *feed) take(list []Slot, now time.Time) {
	old := f.offers
	var before map[string][]Offer // made where the orders differ
	var log []SlotChange
	offers := make([]Offer, 0, len(list))
	for len(list) > 0 {
		n := stretch(len(list), func(i int) bool { return list[i].Node == list[0].Node })
		var was []Offer
		switch {
		case before == nil && len(old) > 0 && old[0].Node == list[0].Node:
			k := stretch(len(old), func(i int) bool { return old[i].Node == old[0].Node })
			was, old = old[:k], old[k:]
		default:
			if before == nil {
				before = byNode(old)
			}
			was = before[list[0].Node]
			delete(before, list[0].Node)
		}
		if unchanged(list[:n], was, now) {
			offers = append(offers, was...)
		} else {
			offers, log = f.match(list[:n], slices.Clone(was), now, offers, log)
		}
		list = list[n:]
	}
	if before == nil {
		before = byNode(old)
	}
	for _, node := range slices.Sorted(maps.Keys(before)) {
		_, log = f.match(nil, before[node], now, nil, log)
	}
	if f.offers = offers; len(log) > 0 {
		f.publish(log)
	}
}

// stretch is how many of the first of a list are alike.
func stretch(of int, alike func(i int) bool) (n int) {
	for n < of && alike(n) {
		n++
	}
	return n
}

func byNode(list []Offer) map[string][]Offer {
	nodes := map[string][]Offer{}
	for _, o := range list {
		nodes[o.Node] = append(nodes[o.Node], o)
	}
	return nodes
}

// unchanged tells whether the slots of a node are those that were there before.
func unchanged(list []Slot, was []Offer, now time.Time) bool {
	return slices.EqualFunc(list, was, func(s Slot, o Offer) bool { return o.same(s, now) })
}

// match finds which slots of a node are those that were there before: the same,
// else the first that shares time with it.
func (f *feed) match(list []Slot, before []Offer, now time.Time, offers []Offer, log []SlotChange) ([]Offer, []SlotChange) {
	before = slices.DeleteFunc(before, func(o Offer) bool { return !o.To.IsZero() && !o.To.After(now) })
	first := len(offers)
	for _, s := range list {
		o := Offer{Slot: s}
		if i := slices.IndexFunc(before, func(b Offer) bool { return b.same(s, now) }); i >= 0 {
			o = before[i]
			before = slices.Delete(before, i, i+1)
		}
		offers = append(offers, o)
	}
	for i := range offers[first:] {
		o := &offers[first+i]
		if o.ID != 0 {
			continue
		}
		kind := SlotMoved
		if k := slices.IndexFunc(before, func(b Offer) bool { return b.meets(o.Slot) }); k >= 0 {
			o.ID = before[k].ID
			before = slices.Delete(before, k, k+1)
		} else {
			f.lastID++
			o.ID, kind = f.lastID, SlotAdded
		}
		log = append(log, SlotChange{Kind: kind, Offer: *o})
	}
	for _, b := range before {
		log = append(log, SlotChange{Kind: SlotWithdrawn, Offer: b})
	}
	return offers, log
}

// same tells whether a slot is this one still: one that has begun goes on.
func (s Slot) same(o Slot, now time.Time) bool {
	return s.alike(o) && s.To.Equal(o.To) && (s.From.Equal(o.From) || !s.From.After(now) && !o.From.After(now)) &&
		slices.Equal(s.Features, o.Features) && slices.Equal(s.Queues, o.Queues)
}

// meets tells whether two slots share time.
func (s Slot) meets(o Slot) bool {
	return (s.To.IsZero() || s.To.After(o.From)) && (o.To.IsZero() || o.To.After(s.From))
}

// publish adds changes to the log as a new version.
func (f *feed) publish(log []SlotChange) {
	f.version++
	for i := range log {
		log[i].Version = f.version
	}
	f.log = append(f.log, log...)
	if over := len(f.log) - keptChanges; over > 0 {
		f.from = f.log[over-1].Version
		f.log = slices.DeleteFunc(f.log, func(c SlotChange) bool { return c.Version <= f.from })
	}
}
