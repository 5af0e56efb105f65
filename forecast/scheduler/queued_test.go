package scheduler

import (
	"fmt"
	"strings"
	"testing"

	"gridbroker/forecast/wire"
	"gridbroker/testdata/testbed"
)

// More jobs than slots, with faults of every kind: jobs wait in a site's queue, some are
// taken out of it for a better place. None is lost, none runs twice, no queue gets
// more than its site lets in, and the ledger is balanced.
func TestQueuesUnderLoad(t *testing.T) {
	testbed.Computes(t)
	moved := 0
	for seed := range uint64(3) {
		w := newWorld(t, sqliteDSN(t), seed, 0.03, 5, 6)
		var jobs []string
		for _, s := range w.sites { // local jobs have all, and those of c0 end long before their time
			for i := range s.nodes {
				s.nodes[i].until = w.now.Unix() + 5400
			}
		}
		for n := range 70 {
			if n == 20 {
				clear(w.sites["c0"].nodes)
			}
			if n > 3 && n < 25 {
				w.step(30)
				continue
			}
			jobs = append(jobs, w.submit(fmt.Sprint("user", n%3), fmt.Sprint("k", n), 300+w.r.IntN(900)))
			w.step(30)
			w.check()
		}
		for range 1200 {
			w.step(30)
			w.check()
			if len(w.s.mem.jobs.of) == 0 {
				break
			}
		}
		if w.turns < 5 {
			t.Errorf("seed %d: %d times put into a queue", seed, w.turns)
		}
		for _, id := range jobs {
			list, err := w.s.Jobs(t.Context(), Person{Admin: true}, []string{id})
			if err != nil || len(list) != 1 {
				t.Fatal("a job is lost:", id, err)
			}
			moved += list[0].Moved
		}
		w.settled(jobs)
	}
	if moved == 0 {
		t.Error("no job was taken out of a queue for a better place")
	}
}

// A job for which no slot is as good is sent at once, without a begin and a deadline; that it
// begins later than foretold is no missed slot. Where a gap appears elsewhere long
// before its turn, it is taken out of the queue and booked there; its fee goes with it.
func TestQueuedJobIsSentAndMoved(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 1, 0, 1, 3)
	now := w.now.Unix()
	w.sites["c0"].nodes[0].until = now + 30*3600 // beyond the horizon
	c1 := w.sites["c1"]
	c1.turns = 1
	for i := range c1.nodes {
		c1.nodes[i].until = now + 5*3600
	}
	id := w.submit("user0", "k", 600)
	second := w.submit("user0", "k2", 600)
	w.step(1)
	w.step(30)
	j := w.job(id)
	if w.job(second).State == Sent {
		j = w.job(second)
		id, second = second, id
	}
	if r, err := w.s.Why(t.Context(), j); err != nil || !strings.Contains(strings.Join(r.Text, "; "), "in the queue of c1, among the local jobs, as no slot was as good: its turn is expected in 4 h") ||
		!strings.Contains(strings.Join(r.Text, "; "), "of 1 guests of this scheduler, of which the site lets in 1, 0 came before it") || !strings.Contains(strings.Join(r.Text, "; "), "moved 0 of 5 times") {
		t.Errorf("of a job in a queue it is said %q, %v", r.Text, err)
	} else if between := fmt.Sprintf("with four chances in five between %s and %s", clock(j.Booking.From-3600), clock(j.Booking.From+60)); !strings.Contains(r.Text[0], between) {
		t.Errorf("of a job in a queue it is said %q, not %s", r.Text[0], between)
	}
	if j.State != Sent || !j.Booking.Turn || j.Booking.Cluster != "c1" {
		t.Fatalf("%s %+v", j.State, j.Booking)
	}
	if g := c1.guests[j.request()]; g == nil || g.begin != 0 || g.deadline != 0 {
		t.Fatalf("sent as %+v", g)
	}
	if other := w.job(second); other.State != Waiting {
		t.Errorf("the queue is for one guest, the second job is %s", other.State)
	}
	charged := j.Charged
	w.survives(func() error { return w.s.Cancel(t.Context(), Person{Subject: "user0"}, second) })
	w.sites["c0"].nodes[0].until = w.now.Unix() // a gap
	for range 10 {
		w.step(30)
		w.check()
	}
	j = w.job(id)
	if j.State != Sent && j.State != Running || j.Booking.Turn || j.Booking.Cluster != "c0" || j.Moved != 1 || j.Charged != charged {
		t.Fatalf("%s %+v moved %d", j.State, j.Booking, j.Moved)
	}
	if c := w.s.mem.clusters["c1"]; c.hits+c.misses != 0 {
		t.Errorf("%d kept and %d missed of slots that nobody promised", c.hits, c.misses)
	}
}

// Guests go to the queue that the agent tells of, where the operator of the scheduler
// names no other: slots of one queue's nodes, and turns in it, are for its jobs.
func TestGuestsGoToTheAgentsQueue(t *testing.T) {
	for _, v := range []struct {
		named string
		site  wire.Site
		want  string
	}{
		{"", wire.Site{Queue: "long", Start: wire.Begin}, "long"}, {"short", wire.Site{Queue: "long", Start: wire.Begin}, "short"},
		{"short", wire.Site{Queue: "long", Start: wire.Partition, Partition: "guest"}, "guest"}, {"", wire.Site{Start: wire.Plain}, ""},
	} {
		c := cluster{name: "c", site: v.site}
		if got := c.describe(ClusterConfig{Queue: v.named}).Queue; got != v.want || queueFor(ClusterConfig{Queue: v.named}, &v.site) != v.want {
			t.Errorf("%+v: sent to %q, want %q", v, got, v.want)
		}
	}
}
