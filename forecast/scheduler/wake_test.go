package scheduler

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"gridbroker/plugins"
)

// sleepySite is a site at which jobs wait until they are woken.
type sleepySite struct {
	askedSite
	woken []string
}

// Wake implements plugins.Waker.
func (a *sleepySite) Wake(_ context.Context, hs []plugins.Handle) []error {
	for _, h := range hs {
		a.woken = append(a.woken, h.ID)
	}
	return make([]error, len(hs))
}

// A site is told once, and together, of the jobs that wait there though their slots have begun; not of what is to be taken back,
// or waits for its turn.
func TestJobsAreWokenForTheirSlots(t *testing.T) {
	store := newScratch(t)
	site := &sleepySite{askedSite: askedSite{state: plugins.Queued}}
	reg, err := plugins.NewRegistry(plugins.Opened{Backend: plugins.Backend{Name: "x", Interfaces: []string{"x"}}, Submitter: site})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	back := func(context.Context, string, []byte) (*plugins.Registry, func(), error) { return reg, func() {}, nil }
	s := New(Config{}, store, back, func() time.Time { return now }, slog.New(slog.DiscardHandler))
	s.mem = newMemory(0)
	for i, j := range []Job{
		{State: Sent, Booking: &Place{From: 10}}, {State: Sent, Booking: &Place{From: 20}}, {State: Sent, Booking: &Place{From: 10, Turn: true}},
		{State: Sent, Booking: &Place{From: 10}, Withdraw: true}, {State: Sent, Booking: &Place{From: 10}, Cancel: true},
		{State: Running, Booking: &Place{From: 10}}, {State: Sent, Booking: &Place{From: 10}},
	} {
		j.ID, j.Seq, j.Handle = fmt.Sprint(i+1), int64(i), plugins.Handle{Interface: "x", ID: fmt.Sprint(i + 1)}
		j.Booking.From += now.Unix()
		s.mem.jobs.enter(&j)
	}
	f := newFollower(s)
	for _, want := range [][]string{nil, {"1", "7"}, {"1", "7", "2"}, {"1", "7", "2"}} {
		if err := f.round(t.Context(), nil, func(_ string, err error) error { return err }); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(site.woken, want) {
			t.Errorf("%v: woken %q, want %q", now.UTC(), site.woken, want)
		}
		now = now.Add(11 * time.Second)
	}
}
