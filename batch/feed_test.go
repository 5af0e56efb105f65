package batch_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/testdata/testbed"
)

// TestFeed holds the slots of a Live after each of many events against those of a
// whole forecast, what the feed says against the lists, and what it says of a job
// against what a whole forecast says.
func TestFeed(t *testing.T) {
	testbed.Computes(t)
	said, seeds := 0, 3
	for _, kind := range []string{"pool", "nodes", "reserved", "queues"} {
		for _, policy := range []batch.Policy{{Name: "easy"}, {Name: "conservative"}, {Name: "slurm"}} {
			for seed := range uint64(seeds) {
				w := newWorld(t, kind, policy, seed)
				known, version := map[int64]batch.Offer{}, int64(0)
				for i := range 30 {
					w.step(i)
					said += w.feed(known, &version, kind+" "+policy.Name)
				}
			}
		}
	}
	if said < 1000*seeds/3 {
		t.Errorf("only %d changes were told", said)
	}
}

// feed takes in the changes since a version, and compares.
func (w *world) feed(known map[int64]batch.Offer, since *int64, what string) int {
	w.t.Helper()
	const horizon = 6 * time.Hour
	offers, version := w.live.Slots(horizon)
	changes, ok := w.live.Changes(*since)
	if !ok {
		w.t.Fatalf("%s: nothing is known since version %d", what, *since)
	}
	for _, c := range changes {
		if _, there := known[c.ID]; there == (c.Kind == batch.SlotAdded) {
			w.t.Fatalf("%s: slot %d is %s", what, c.ID, c.Kind)
		}
		if known[c.ID] = c.Offer; c.Kind == batch.SlotWithdrawn {
			delete(known, c.ID)
		}
	}
	*since = version
	now := w.live.Now()
	for id, o := range known {
		if !o.To.IsZero() && !o.To.After(now) {
			delete(known, id) // its time is over
		}
	}
	if len(known) != len(offers) {
		w.t.Fatalf("%s: %d slots by the feed, %d in the list", what, len(known), len(offers))
	}
	var got, want []string
	for _, o := range offers {
		if fmt.Sprint(known[o.ID]) != fmt.Sprint(o) {
			w.t.Fatalf("%s: slot %d is %v by the feed, %v in the list", what, o.ID, known[o.ID], o)
		}
		o.From = later(o.From, now)
		got = append(got, fmt.Sprint(o.Slot))
	}
	whole := w.live.Snapshot()
	for _, s := range whole.Slots(horizon) {
		want = append(want, fmt.Sprint(s))
	}
	if !slices.Equal(got, want) {
		w.t.Fatalf("%s: slots\n%v\nwant\n%v", what, got, want)
	}
	sizes := []batch.Size{{Procs: 3, Duration: time.Hour, User: "u1"}, {Procs: 40, Duration: 3 * time.Hour, Memory: 1024}}
	if a, b := fmt.Sprint(w.live.Earliest(sizes)), fmt.Sprint(whole.Earliest(sizes)); a != b {
		w.t.Fatalf("%s: jobs could start at %s, by a whole forecast at %s", what, a, b)
	}
	if again, same := w.live.Slots(horizon); same != version || len(again) != len(offers) {
		w.t.Fatalf("%s: nothing has happened, and the slots have changed", what)
	}
	return len(changes)
}
