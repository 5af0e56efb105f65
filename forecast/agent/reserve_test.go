package agent

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"gridbroker/forecast/wire"
	"gridbroker/plugins"
)

// reserver is a batch system's reservations. Each is made when enough others are being made.
type reserver struct {
	mu    sync.Mutex
	made  map[string]plugins.Kept
	lists int
	wait  sync.WaitGroup
	news  chan string
}

func (r *reserver) Reserve(_ context.Context, name string, k plugins.Kept) error {
	r.wait.Done()
	r.wait.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made[name] = k
	r.news <- name
	return nil
}

func (r *reserver) Reserved(context.Context, string) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lists++
	return slices.Collect(maps.Keys(r.made)), nil
}

func (r *reserver) Release(_ context.Context, name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.made, name)
	r.news <- "no " + name
	return nil
}

// What is booked between two looks, which are far apart where the batch system is slow, is
// reserved at once, several at a time; what is over is given back; the batch system is not
// asked while nothing changes.
func TestReservesBetweenLooks(t *testing.T) {
	b := newBench(t)
	a, r := b.agent(), &reserver{made: map[string]plugins.Kept{}, news: make(chan string, 10)}
	a.Reserve, a.Conf.Site.Start, a.Conf.Poll = r, wire.Reservation, time.Millisecond
	b.step(a)
	list := []wire.Booking{}
	for i := range reservedAtOnce {
		from := b.now.Unix() + 10
		list = append(list, wire.Booking{Schema: wire.BookingSchema, Job: fmt.Sprint("j", i), Key: fmt.Sprint("k", i), Procs: 1, Way: wire.Reservation, From: from, To: from + 60, Slots: []wire.Part{{Node: "n1", CPUs: 2}}})
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() { ended <- rest(ctx, a, time.Hour) }()
	defer func() { cancel(); <-ended }()
	asked := func(more int) {
		for want := -1; ; time.Sleep(time.Millisecond) {
			n := 0
			b.c.with(func() { n = b.c.asked })
			if want < 0 {
				want = n + more
			}
			if n >= want {
				return
			}
		}
	}
	asked(3)
	r.wait.Add(len(list))
	b.c.with(func() { b.c.booked = list })
	for range list {
		<-r.news
	}
	if k := r.made["gras_k1"]; k.CPUs["n1"] != 2 || k.From.Unix() != list[1].From || k.To.Unix() != list[1].To {
		t.Errorf("it keeps %+v", k)
	}
	asked(3)
	r.mu.Lock()
	lists := r.lists
	r.mu.Unlock()
	asked(5)
	r.mu.Lock()
	if r.lists != lists || len(r.made) != len(list) {
		t.Errorf("%d reservations, listed %d times, then %d", len(r.made), lists, r.lists)
	}
	r.mu.Unlock()
	b.c.with(func() { b.c.booked = list[1:] })
	if gone := <-r.news; gone != "no gras_k0" {
		t.Error(gone)
	}
}
