package batch_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/testdata/testbed"
)

// recalling are the policies that give every job a place.
func recalling() map[string]batch.Policy {
	return map[string]batch.Policy{
		"conservative": {Name: "conservative"}, "unlimited": {Name: "maui", Maui: batch.Maui{ReservationDepth: batch.Unlimited}},
	}
}

// An event on the nodes of one queue leaves the others' jobs where they were: they are not
// looked for again, but for the one that could have started already and its like.
func TestPlacesGivenAgain(t *testing.T) {
	testbed.Computes(t)
	for name, policy := range recalling() {
		s := twoParts(false)
		f := batch.Forecaster{Policy: policy}
		live, err := f.Live(s)
		if err != nil {
			t.Fatal(err)
		}
		live.Starts(0)
		for i := range 4 { // nodes of the queue cpu have even numbers
			if err := live.End(fmt.Sprint(2*i), s.Now.Add(time.Duration(i)*time.Second)); err != nil {
				t.Fatal(err)
			}
			live.Starts(0)
			again, all := live.Recalled()
			if again*5 < all*2 || again == all { // of half of the jobs no node has changed
				t.Errorf("%s, event %d: %d of %d places given again", name, i, again, all)
			}
		}
	}
}

// Whatever happens a Live foretells what a forecast of its state does, with nodes, near and far.
func TestPlacesGivenAgainAreTheSame(t *testing.T) {
	testbed.Computes(t)
	for name, policy := range recalling() {
		for _, seed := range []uint64{0, 1, 2, 3, 4, 5, 77} { // in the last one a job is behind what is asked for, twice
			recalled(t, name, policy, seed)
		}
	}
}

// twoParts is a full cluster of two queues on nodes of their own, or some of which they share.
func twoParts(shared bool) batch.State {
	s := bigState(120, 80, 24)
	for i := range s.Nodes {
		s.Nodes[i].Queues = []string{"cpu", "gpu"}[i%2 : i%2+1]
		if shared && i%8 == 0 {
			s.Nodes[i].Queues = []string{"cpu", "gpu"}
		}
	}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if j.Queue = []string{"cpu", "gpu"}[i%2]; j.Procs > 40 || j.GPUs > 0 {
			j.Nodes, j.Procs, j.GPUs = 0, 3, 0
		}
	}
	return s
}

func recalled(t *testing.T, name string, policy batch.Policy, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 7))
	s := twoParts(seed%2 > 0)
	f := batch.Forecaster{Policy: policy}
	live, err := f.Live(s)
	if err != nil {
		t.Fatal(err)
	}
	now := s.Now
	for event := range 16 {
		now = now.Add(time.Duration(rng.IntN(4)*rng.IntN(300)) * time.Second)
		if err := happen(live, rng, now, event); err != nil {
			t.Fatal(err)
		}
		n := rng.IntN(30) * rng.IntN(3)
		got, state := live.Starts(n), live.State()
		fresh := batch.Forecaster{Policy: policy}
		whole, err := fresh.Forecast(state)
		if err != nil {
			t.Fatal(err)
		}
		want := whole.Jobs
		if n > 0 {
			want = want[:n]
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%s, seed %d, event %d: %d starts\n%v\nwant\n%v", name, seed, event, n, got, want)
		}
	}
}

// Questions asked of an engine one after the other, in the same memory, about jobs that differ in what they ask for and for how long, are answered as
// by an engine that was asked nothing before.
func TestQuestionsInTurn(t *testing.T) {
	testbed.Computes(t)
	for name, policy := range recalling() {
		rng := rand.New(rand.NewPCG(1, 3))
		e, err := batch.NewEngine(twoParts(false), policy)
		if err != nil {
			t.Fatal(err)
		}
		for range 30 {
			e.Step()
			size := batch.Size{}
			for k := range 5 {
				if size.Memory = 16384; k < 4 { // the last one asks for nothing else but more memory
					size = batch.Size{Procs: 1 + rng.IntN(12), Duration: time.Duration(1+rng.IntN(300)) * time.Minute, Queue: []string{"cpu", "gpu"}[rng.IntN(2)]}
				}
				asked, unasked := batch.Forecaster{Policy: policy}, batch.Forecaster{Policy: policy}
				forecast, err := unasked.Forecast(e.State())
				if err != nil {
					t.Fatal(err)
				}
				got, want := e.Earliest(&asked, []batch.Size{size})[0], forecast.Earliest([]batch.Size{size})[0]
				if !want.Equal(got) {
					t.Errorf("%s: %+v %s, want %s", name, size, got, want)
				}
			}
		}
	}
}

// A place whose time has come, of a job of which nobody says that it started, is not given again: later it may not last for as long, as b's does not,
// behind whom a has both nodes.
func TestPlacesOfThePast(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	s := batch.State{Now: now, Nodes: []batch.Node{{Name: "x", CPUs: 1, Memory: 1, Up: true}, {Name: "y", CPUs: 1, Memory: 1, Up: true}}, Jobs: []batch.Job{
		{ID: "runs", Procs: 1, Requested: 100 * time.Second, Submitted: now, Started: now, Placed: []batch.Placement{{Node: "y", Procs: 1}}},
		{ID: "a", Procs: 2, Memory: 1, Requested: 100 * time.Second, Submitted: now},
		{ID: "b", Procs: 1, Memory: 1, Requested: 100 * time.Second, Submitted: now},
	}}
	for name, policy := range recalling() {
		f := batch.Forecaster{Policy: policy}
		live, err := f.Live(s)
		if err != nil {
			t.Fatal(err)
		}
		for at, want := range []time.Duration{0, 200 * time.Second} {
			live.Advance(now.Add(time.Duration(10*at) * time.Second))
			if got := starts(live.Starts(0)); got["b"].Sub(now) != want || got["a"].Sub(now) != 100*time.Second {
				t.Errorf("%s: after %d s %v", name, 10*at, got)
			}
		}
	}
}

// Where more nodes changed at once than are looked at one by one, jobs are looked for again: late could have its
// place on those that are not among the first.
func TestPlacesAfterManyChanges(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	s := batch.State{Now: now}
	running := func(id string, d time.Duration) batch.Job {
		return batch.Job{ID: id, Requested: d, Submitted: now, Started: now}
	}
	wide, rest := running("wide", 1000*time.Second), running("rest", 500*time.Second)
	for i := range 48 {
		n := batch.Node{Name: fmt.Sprintf("n%02d", i), CPUs: 1, Memory: 1, Up: true}
		j := &wide
		if i >= 40 {
			n.Features = []string{"late"}
		}
		if i >= 44 {
			j = &rest
		}
		j.Procs++
		j.Placed = append(j.Placed, batch.Placement{Node: n.Name, Procs: 1})
		s.Nodes = append(s.Nodes, n)
	}
	s.Jobs = []batch.Job{wide, rest,
		{ID: "late", Procs: 2, Memory: 1, Features: []string{"late"}, Requested: 100 * time.Second, Submitted: now},
		{ID: "any", Procs: 48, Memory: 1, Requested: 100 * time.Second, Submitted: now},
	}
	for name, policy := range recalling() {
		f := batch.Forecaster{Policy: policy}
		live, err := f.Live(s)
		if err != nil {
			t.Fatal(err)
		}
		before := starts(live.Starts(0))
		if err := live.End("wide", now.Add(10*time.Second)); err != nil {
			t.Fatal(err)
		}
		after := starts(live.Starts(0))
		if got := []time.Duration{before["late"].Sub(now), after["late"].Sub(now)}; got[0] != 500*time.Second || got[1] != 10*time.Second {
			t.Errorf("%s: late starts after %v", name, got)
		}
	}
}

// Whether a node has room for a job from some time on is what trying every second says.
func TestNodeOpens(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 4000 {
		var held [][2]int64
		for range rng.IntN(7) {
			at := rng.Int64N(30)
			held = append(held, [2]int64{at, at + 1 + rng.Int64N(12)})
		}
		from, limit, each := rng.Int64N(10), 1+rng.Int64N(8), int32(1+rng.IntN(2))
		before, want := from+rng.Int64N(25), false
		for at := from; at < before && !want; at++ {
			want = true
			for second := at; second < at+limit; second++ {
				free := int32(3)
				for _, h := range held {
					if h[0] <= second && second < h[1] {
						free--
					}
				}
				want = want && free >= each
			}
		}
		if got := batch.Opens(held, 3, from, before, limit, each); got != want {
			t.Fatalf("%v: from %d before %d for %d, %d processors: %v", held, from, before, limit, each, got)
		}
	}
}

// happen lets one thing happen: a job ends early, starts as foretold, comes, is cancelled, or time goes by.
func happen(live *batch.Live, rng *rand.Rand, now time.Time, event int) error {
	jobs := live.State().Jobs
	j := jobs[rng.IntN(len(jobs))]
	switch k := rng.IntN(8); {
	case k < 3 && !j.Started.IsZero():
		return live.End(j.ID, now)
	case k == 3 && j.Started.IsZero():
		return live.Cancel(j.ID, now)
	case k < 5:
		if next := live.Starts(1); len(next) > 0 && !next[0].Start.After(now) {
			return live.Start(next[0].ID, now, next[0].Placed)
		}
	case k < 7:
		j.ID, j.Started, j.Placed, j.Submitted, j.Priority = fmt.Sprint("n", event), time.Time{}, nil, now, float64(rng.IntN(4)/3)
		return live.Submit(j)
	}
	live.Advance(now)
	return nil
}
