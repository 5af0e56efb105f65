package agent

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"gridbroker/forecast/wire"
	"gridbroker/plugins"
	"gridbroker/testdata/testbed"
)

// A scheduler that tells of more bookings than a cluster can have is believed the soonest of them: each is held
// against every job that waits.
func TestMoreBookingsThanProcessors(t *testing.T) {
	testbed.Computes(t)
	b := newBench(t)
	at := b.now.Unix()
	for i := range int64(50_000) {
		b.c.booked = append(b.c.booked, wire.Booking{Job: "j", Key: fmt.Sprint("j-", i), From: at + i, To: at + i + 60, Procs: 1, Way: wire.Begin, Slots: []wire.Part{{Slot: 1, Node: "n0", CPUs: 1}}})
	}
	a := b.agent()
	var said strings.Builder
	a.Log = slog.New(slog.NewTextHandler(&said, nil))
	if err := a.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, most := bookedNow(a), 1000+8*32; len(got) != most || got[0].Key != "j-0" || got[most-1].Key != fmt.Sprint("j-", most-1) {
		t.Errorf("%d bookings are believed", len(got))
	}
	const leftOut = "grid_agent_bookings_left_out"
	if n := shown(t, a, leftOut); n != 50_000-1000-8*32 {
		t.Errorf("%v bookings are left out, as is told", n)
	}
	b.c.with(func() { b.c.booked = b.c.booked[:300] })
	b.later("1", true)
	if err := a.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(bookedNow(a)); n != 300 {
		t.Errorf("%d of 300 bookings are believed", n)
	}
	if n := shown(t, a, leftOut); n != 0 {
		t.Errorf("%v bookings are left out still, as is told", n)
	}
	if text := said.String(); strings.Count(text, "left_out=48744") != 1 || strings.Count(text, "left_out=") != 2 {
		t.Errorf("the log says: %s", text)
	}
}

// shown is what a monitor is told of a figure.
func shown(t *testing.T, a *Agent, figure string) (n float64) {
	t.Helper()
	w := httptest.NewRecorder()
	a.Meter.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	_, text, _ := strings.Cut(w.Body.String(), "\n"+figure+" ")
	if _, err := fmt.Sscan(text, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// keeper makes every reservation.
type keeper struct {
	mu   sync.Mutex
	made []string
}

func (k *keeper) Reserve(_ context.Context, name string, _ plugins.Kept) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.made = append(k.made, name)
	return nil
}

func (k *keeper) Reserved(context.Context, string) ([]string, error) { return nil, nil }

func (k *keeper) Release(context.Context, string) error { return nil }

// A scheduler that books what was never offered has nothing reserved: nodes of other queues, all nodes by another word for
// them, none, and for years; what it books beside that is reserved.
func TestNothingIsReservedThatIsNotOffered(t *testing.T) {
	b := newBench(t)
	for i := range b.site.state.Nodes {
		b.site.state.Nodes[i].Queues = []string{"guests"}
	}
	b.site.state.Nodes[3].Queues = []string{"own"}
	a, r := b.agent(), &keeper{}
	a.Reserve, a.Conf.Site.Start, a.Conf.Site.MaxGuest, a.Conf.Queue = r, wire.Reservation, 7200, "guests"
	from := b.now.Unix() + 60
	booked := func(key string, wall int64, nodes ...string) {
		v := wire.Booking{Job: key, Key: key, From: from, To: from + wall, Procs: 1, Way: wire.Reservation}
		for _, n := range nodes {
			v.Slots = append(v.Slots, wire.Part{Node: n, CPUs: 1})
		}
		b.c.booked = append(b.c.booked, v)
	}
	booked("own", 60, "n3")
	booked("both", 60, "n1", "n3")
	booked("all", 60, "ALL")
	booked("none", 60)
	booked("years", 5*365*86400, "n1")
	booked("good", 7200, "n1", "n2")
	far := wire.Booking{Job: "far", Key: "far", From: from + 86400, To: from + 86460, Procs: 1, Way: wire.Reservation, Slots: []wire.Part{{Node: "n1", CPUs: 1}}}
	b.c.booked = append(b.c.booked, far)
	if err := a.Step(t.Context()); err == nil {
		t.Error("what is not reserved is not told")
	}
	if len(r.made) != 1 || r.made[0] != "gras_good" {
		t.Errorf("reserved: %v", r.made)
	}
}
