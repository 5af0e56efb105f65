package agent

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/wire"
)

// A share of the processors is kept free at every time, no more and no fewer where there
// are as many: against counting, over random free times of several nodes.
func TestSpareProcessorsAreNotOffered(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	now := time.Unix(1_800_000_000, 0).UTC()
	const hours = 6
	for range 300 {
		var s batch.State
		var list []batch.Slot
		var free [hours]int
		for n := range 1 + r.IntN(5) {
			name := fmt.Sprint("n", n)
			s.Nodes = append(s.Nodes, batch.Node{Name: name, CPUs: 10, Up: true})
			for h := 0; h < hours; {
				to, cpus := min(hours, h+1+r.IntN(3)), r.IntN(11)
				v := batch.Slot{Node: name, From: now.Add(time.Duration(h) * time.Hour), To: now.Add(time.Duration(to) * time.Hour), CPUs: cpus, Memory: int64(100 * cpus)}
				if to == hours {
					v.To = time.Time{}
				}
				if cpus > 0 {
					list = append(list, v)
				}
				for ; h < to; h++ {
					free[h] += cpus
				}
			}
		}
		a := &Config{Horizon: hours * time.Hour, Spare: 10 * r.IntN(11)}
		keep := a.Spare * 10 * len(s.Nodes) / 100
		var told [hours]int
		for _, v := range spared(a, s, list, now) {
			if v.CPUs <= 0 || v.Memory != int64(100*v.CPUs) || !v.To.IsZero() && !v.From.Before(v.To) {
				t.Fatalf("%+v", v)
			}
			for h := range hours {
				if at := now.Add(time.Duration(h) * time.Hour); !v.From.After(at) && (v.To.IsZero() || v.To.After(at)) {
					told[h] += v.CPUs
				}
			}
		}
		for h := range hours {
			if want := max(0, free[h]-keep); told[h] != want {
				t.Fatalf("hour %d: %d told of %d free, of which %d are kept", h, told[h], free[h], keep)
			}
		}
	}
}

// Guests that give way may have all.
func TestGuestsThatGiveWayHaveAll(t *testing.T) {
	for way, want := range map[wire.Way]int32{wire.Partition: 32, wire.Begin: 29} {
		b := newBench(t)
		a := b.agent()
		a.Conf.Spare, a.Conf.Site.Start = 10, way
		b.step(a)
		cpus := int32(0)
		b.c.set.All(func(v wire.Slot) { cpus += v.CPUs })
		if cpus != want {
			t.Errorf("%s: %d of 32 processors are offered, want %d", way, cpus, want)
		}
	}
}

// What is kept is a share of the nodes that guests are let to.
func TestSpareIsOfTheGuestsQueue(t *testing.T) {
	b := newBench(t)
	b.site.state.Queues = append(b.site.state.Queues, batch.Queue{Name: "small"})
	for i := range b.site.state.Nodes {
		b.site.state.Nodes[i].Queues = []string{"all"}
	}
	b.site.state.Nodes[1].Queues = []string{"all", "small"}
	a := b.agent()
	a.Conf.Spare, a.Conf.Queue = 25, "small"
	b.step(a)
	b.c.set.All(func(v wire.Slot) {
		if v.Node != "n1" || v.CPUs != 6 {
			t.Errorf("%+v: want 6 processors of n1", v)
		}
	})
	if b.c.set.Len() != 1 {
		t.Errorf("%d slots, want one", b.c.set.Len())
	}
}
