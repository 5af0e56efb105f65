package batch_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/testdata/testbed"
)

// TestNear holds the near future of a Live after each of many events against that of
// a whole forecast: its slots, what starts, and now and then what it says of a job.
func TestNear(t *testing.T) {
	testbed.Computes(t)
	for _, kind := range []string{"pool", "nodes", "reserved", "queues"} {
		for _, policy := range []batch.Policy{{Name: "easy"}, {Name: "conservative"}, {Name: "slurm"}} {
			for seed := range testbed.Seeds(1, 3) {
				nearby(t, kind, policy, seed, 30)
			}
		}
	}
	for _, policy := range []batch.Policy{{Name: "conservative"}, {Name: "maui", Maui: batch.Maui{ReservationDepth: batch.Unlimited}}} {
		nearby(t, "long", policy, 0, 20) // most of it is out of sight
	}
}

func nearby(t *testing.T, kind string, policy batch.Policy, seed uint64, events int) {
	t.Helper()
	w := newWorld(t, kind, policy, seed)
	for i := range events {
		w.step(i)
		w.near(fmt.Sprint(kind, " ", policy.Name, " ", seed, ", event ", i), i%5 == 4)
	}
}

func (w *world) near(what string, ask bool) {
	w.t.Helper()
	const horizon = 6 * time.Hour
	near, whole := w.live.Near(horizon), w.live.Fork()()
	if got, want := fmt.Sprint(near.Slots(horizon)), fmt.Sprint(whole.Slots(horizon)); got != want {
		w.t.Fatalf("%s: slots\n%v\nwant\n%v", what, got, want)
	}
	soon := slices.DeleteFunc(slices.Clone(whole.Jobs), func(e batch.Expected) bool { return !e.Start.Before(whole.At.Add(horizon)) })
	if got, want := fmt.Sprint(near.Jobs), fmt.Sprint(soon); got != want {
		w.t.Fatalf("%s: jobs\n%v\nwant\n%v", what, got, want)
	}
	sizes := []batch.Size{{Procs: 3, Duration: time.Hour, User: "u1"}, {Procs: 40, Duration: 3 * time.Hour, Memory: 1024}}
	if !ask {
		sizes = nil
	}
	if a, b := fmt.Sprint(near.Earliest(sizes)), fmt.Sprint(whole.Earliest(sizes)); a != b {
		w.t.Fatalf("%s: jobs could start at %s, by a whole forecast at %s", what, a, b)
	}
	if got, want := w.live.Starts, whole.Jobs; ask && fmt.Sprint(got(0)) != fmt.Sprint(want) { // farther than it was asked for
		w.t.Fatalf("%s: all starts\n%v\nwant\n%v", what, got(0), want)
	}
	if again := w.live.Near(horizon); again != near {
		w.t.Fatalf("%s: nothing has happened, and the schedule was worked out again", what)
	}
}

// TestNearHolds lets time go by after each of many events. Where what was foretold is said to hold it is what is
// foretold anew: what is free already is so from now on, and nothing else is another.
func TestNearHolds(t *testing.T) {
	testbed.Computes(t)
	held := map[string]int{}
	for _, kind := range []string{"pool", "nodes", "reserved", "queues"} {
		for _, policy := range []batch.Policy{{Name: "easy"}, {Name: "conservative"}, {Name: "slurm"}} {
			w := newWorld(t, kind, policy, 0)
			for i := range 40 {
				w.step(i)
				held[kind] += w.holds(fmt.Sprint(kind, " ", policy.Name, ", event ", i))
			}
		}
	}
	if held["pool"] == 0 || held["nodes"] == 0 || held["queues"] == 0 || held["reserved"] > 0 {
		t.Errorf("it held after %v events", held)
	}
}

// holds lets time go by, and counts whether what was foretold held.
func (w *world) holds(what string) int {
	w.t.Helper()
	const horizon = 6 * time.Hour
	was := w.live.Near(horizon)
	slots, jobs := was.Slots(horizon), fmt.Sprint(was.Jobs)
	s := w.live.State()
	s.Now = s.Now.Add(time.Duration(w.rng.IntN(300)) * time.Second)
	w.now = later(w.now, s.Now)
	if _, err := w.live.Sync(s); err != nil {
		w.t.Fatal(err)
	}
	if !batch.Holds(w.live, horizon) {
		return 0
	}
	is := w.live.Near(horizon)
	for i := range slots {
		if slots[i].From.Equal(was.At) {
			slots[i].From = is.At
		}
	}
	slots = slices.DeleteFunc(slots, func(v batch.Slot) bool { return !v.To.IsZero() && !v.To.After(is.At) })
	if got := fmt.Sprint(is.Slots(horizon)); got != fmt.Sprint(slots) || fmt.Sprint(is.Jobs) != jobs {
		w.t.Fatalf("%s, %v later: slots\n%v\nwere\n%v\njobs\n%v\nwere\n%v", what, is.At.Sub(was.At), got, slots, is.Jobs, jobs)
	}
	return 1
}
