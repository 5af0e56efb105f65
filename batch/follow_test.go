package batch_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/testdata/testbed"
)

// TestLive follows random events, some as foretold, some late or impossible,
// and compares the schedule with one foretold from the state each time.
func TestLive(t *testing.T) {
	testbed.Computes(t)
	policies := []batch.Policy{
		{Name: "fcfs"}, {Name: "easy"}, {Name: "easy-sjbf"}, {Name: "conservative"},
		{Name: "maui", Maui: batch.Maui{ReservationDepth: 3, Weights: batch.Weights{QueueTime: 1, XFactor: 50}}},
	}
	for _, kind := range []string{"pool", "nodes", "reserved", "queues"} {
		for _, policy := range policies {
			t.Run(kind+"/"+policy.Name, func(t *testing.T) {
				seeds := testbed.Seeds(3, 18)
				if kind == "reserved" {
					seeds = testbed.Seeds(2, 9) // it is set up anew for each event
				}
				for seed := range seeds {
					w := newWorld(t, kind, policy, seed)
					for i := range 60 {
						w.step(i)
						w.compare(i)
					}
				}
			})
		}
	}
}

// world is a cluster whose events a Live is told of.
type world struct {
	t    *testing.T
	f    batch.Forecaster
	live *batch.Live
	rng  *rand.Rand
	now  time.Time
	kind string
	made int
}

func newWorld(t *testing.T, kind string, policy batch.Policy, seed uint64) *world {
	t.Helper()
	s := busyState(100, 40, 150, kind == "nodes")
	switch kind {
	case "long":
		s = busyState(100, 150, 150, true)
	case "reserved":
		s.Reservations = []batch.Reservation{
			{Name: "ours", Nodes: []string{"n001"}, Users: []string{"u1", "u2"}, Start: s.Now.Add(time.Hour), End: s.Now.Add(9 * time.Hour)},
			{Name: "some", Procs: 20, Start: s.Now.Add(2 * time.Hour), End: s.Now.Add(3 * time.Hour)},
		}
	case "queues":
		s.Queues = []batch.Queue{{Name: "few", MaxRunning: 3}, {Name: "high", Priority: 1}}
		for i := range s.Jobs {
			s.Jobs[i].Queue = []string{"few", "high", ""}[i%3]
		}
	}
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 3)), now: s.Now, kind: kind}
	w.f = batch.Forecaster{Policy: policy, Belief: []batch.Belief{batch.Estimate{}, batch.NewLastTwo(), batch.NewHistory()}[seed%3]}
	live, err := w.f.Live(s)
	if err != nil {
		t.Fatal(err)
	}
	w.live = live
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// step lets one thing happen.
func (w *world) step(i int) {
	w.t.Helper()
	expected := slices.Clone(w.live.Starts(w.rng.IntN(4)))
	state := w.live.State()
	if w.rng.IntN(3) > 0 {
		w.now = w.now.Add(time.Duration(w.rng.IntN(900)) * time.Second)
	}
	j := state.Jobs[w.rng.IntN(len(state.Jobs))]
	switch k := w.rng.IntN(12); {
	case k < 3:
		w.must(w.live.Submit(w.job(i)))
	case k < 5 && len(expected) > 0: // as foretold, as far as the time goes
		w.now = later(w.now, expected[0].Start)
		w.must(w.live.Start(expected[0].ID, expected[0].Start, expected[0].Placed))
	case k < 7: // at its limit
		end := w.limitEnd(state)
		w.now = later(w.now, end.at)
		if end.id != "" {
			w.must(w.live.End(end.id, end.at))
		}
	case k == 7:
		w.must(w.live.End(j.ID, w.now.Add(-time.Duration(w.rng.IntN(100))*time.Second))) // told late
	case k == 8:
		w.must(w.live.Cancel(j.ID, w.now))
	case k == 9:
		j.Held, j.Priority, j.Requested = w.rng.IntN(4) == 0, float64(w.rng.IntN(3)), j.Requested+time.Hour
		w.must(w.live.Change(j, w.now))
	case k == 10:
		state.Nodes[w.rng.IntN(len(state.Nodes))].Up = w.rng.IntN(3) > 0
		w.live.Configure(state.Nodes, state.Queues, state.Reservations, w.now)
	default:
		w.live.Advance(w.now)
		for _, err := range []error{w.live.End("nobody", w.now), w.live.Cancel("nobody", w.now), w.live.Start("nobody", w.now, nil), w.live.Submit(j)} {
			if err == nil {
				w.t.Error("an event that cannot be was taken in")
			}
		}
	}
}

func (w *world) job(i int) batch.Job {
	w.made++
	if w.kind == "scene" {
		j := sceneJob(w.rng, w.live.State(), 0)
		j.ID, j.Submitted = fmt.Sprint("new", w.made), w.now
		return j
	}
	j := batch.Job{
		ID: fmt.Sprint("new", w.made), User: fmt.Sprint("u", w.rng.IntN(4)), Procs: 1 + w.rng.IntN(20),
		Requested: time.Duration(1+w.rng.IntN(5)) * time.Hour, Submitted: w.now,
	}
	if i%7 == 0 {
		j.Submitted = w.now.Add(-time.Hour) // told late
	}
	switch {
	case w.kind == "nodes" || w.kind == "pool" && i%50 == 49:
		j.Memory = 1024
	case w.kind == "queues":
		j.Queue = []string{"few", "high", ""}[i%3]
	case w.kind == "reserved" && i%5 == 0:
		j.Reservation, j.User, j.Procs = "ours", "u1", 4
	}
	return j
}

type jobEnd struct {
	id string
	at time.Time
}

// limitEnd is the running job that reaches its limit next.
func (w *world) limitEnd(s batch.State) (end jobEnd) {
	for _, j := range s.Jobs {
		if at := j.Started.Add(j.Requested); !j.Started.IsZero() && at.After(w.now) && (end.id == "" || at.Before(end.at)) {
			end = jobEnd{j.ID, at}
		}
	}
	return end
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (w *world) compare(i int) {
	w.t.Helper()
	want, err := w.f.Forecast(w.live.State())
	w.must(err)
	first := starts(w.live.Starts(5))
	got := w.live.Starts(0)
	for id, at := range first {
		if !starts(got)[id].Equal(at) {
			w.t.Fatalf("event %d: job %s is among the first to start at %s, then at %s", i, id, at, starts(got)[id])
		}
	}
	if a, b := starts(got), starts(want.Jobs); len(a) != len(b) {
		w.t.Fatalf("event %d: %d jobs foretold, want %d", i, len(a), len(b))
	} else {
		for id := range b {
			if !a[id].Equal(b[id]) {
				w.t.Fatalf("event %d: job %s is foretold for %s, want %s", i, id, a[id], b[id])
			}
		}
	}
	if a, b := fmt.Sprint(w.live.Refused()), fmt.Sprint(want.Refused); len(w.live.Refused()) != len(want.Refused) {
		w.t.Fatalf("event %d: refused %s, want %s", i, a, b)
	}
}

func starts(list []batch.Expected) map[string]time.Time {
	at := map[string]time.Time{}
	for _, e := range list {
		at[e.ID] = e.Start
	}
	return at
}
