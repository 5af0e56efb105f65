package scheduler

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"gridbroker/forecast/wire"
)

// Where fewer starts are kept than an agent tells, or as many, what is published
// with bookings comes to be within 3 % of what is kept: in every class of chance
// where the agent is off by one factor, and what it tells well is left alone.
func TestChancesOfBookingsAreCalibrated(t *testing.T) {
	for _, factor := range []float64{1, 0.8} {
		r := rand.New(rand.NewPCG(3, 15))
		c := &cluster{}
		type class struct{ n, told, kept float64 }
		var of [11]class
		for n := range 20_000 {
			told := 0.5 + 0.5*r.Float64()
			published := float64(percent(told*c.sure())) / 100
			kept := r.Float64() < told*factor
			c.count(&Place{Chance: published, Told: told}, kept)
			if n < 1000 { // until then it learns
				continue
			}
			k := &of[int(10*published)]
			k.n, k.told, k.kept = k.n+1, k.told+published, k.kept+float64(b2i(kept))
		}
		for i, k := range of {
			if k.n > 1000 && math.Abs(k.told-k.kept) > 0.03*k.n {
				t.Errorf("factor %v, tenth %d: %.3f told, %.3f kept", factor, i, k.told/k.n, k.kept/k.n)
			}
		}
	}
}

// Of a slot that is partly booked the rest begins later, and is told with the chance
// of slots that begin then.
func TestSlotsBehindBookings(t *testing.T) {
	now := int64(1_000_000)
	c := &cluster{name: "c", set: &wire.Set{}, made: now, ttl: 100, number: map[string]int32{"n": 0}, class: map[string]uint16{},
		site: wire.Site{Chances: []wire.Chance{{Ahead: 0, Start: 0.99}, {Ahead: 3600, Start: 0.79}}}}
	c.set.Put(wire.Slot{ID: 1, Node: "n", CPUs: 1, From: now, To: now + 10_000, Start: 0.98, Hold: 0.6})
	m := &memory{clusters: map[string]*cluster{"c": c}, jobs: map[string]*Job{
		"j": {ID: "j", State: Sent, Wall: 1800, Booking: &Place{Cluster: "c", From: now + 60, To: now + 1860, Parts: []Share{{Slot: 1, Node: "n", CPUs: 1}}}},
	}}
	in := &inputs{}
	in.addSlots(c, 0, m.busy(now)["c"], now)
	got := ""
	for _, v := range in.slots {
		got += fmt.Sprintln(v.From, v.To, v.Start)
	}
	if want := "0 60 98\n1860 10000 89\n"; got != want {
		t.Errorf("slots:\n%swant:\n%s", got, want)
	}
	p := Config{}.withDefaults().planned(c, now)
	if len(p.Later) != 2 || p.Later[1].After != int32(time.Hour/time.Second) || p.Later[1].Start != 79 {
		t.Errorf("planning is told %v", p.Later)
	}
}
