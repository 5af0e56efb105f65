package batch_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/testdata/testbed"
)

// thirds believes that of three jobs one takes a third of its limit, and one two.
type thirds struct{ batch.Estimate }

// Run implements batch.Belief.
func (thirds) Run(t *batch.Task, elapsed int64) int64 {
	return max(t.Limit*(t.ID%3+1)/3, elapsed+1, 1)
}

// compressing is conservative backfill on slow nodes: every job gets a place, in
// order; whenever a job ends, each is lifted out, in order, and put back where it
// can start earliest, or where it was.
func (s *slowNodes) compressing(runs batch.Belief) {
	for i, j := range s.waiting {
		if at, on := s.earliest(j); at >= 0 {
			s.places = append(s.places, slowHeld{j, at, at + s.limit(j), on, i})
		}
	}
	ends := map[string]int64{}
	for given := len(s.places); len(s.running)+len(s.places) > 0; {
		end, begin := s.first(func(h slowHeld) int64 { return ends[h.job.ID] }, s.running), s.first(func(h slowHeld) int64 { return h.from }, s.places)
		if end < 0 || begin >= 0 && s.places[begin].from < ends[s.running[end].job.ID] {
			h := s.places[begin]
			s.now = h.from
			s.places = slices.Delete(s.places, begin, begin+1)
			s.start(slices.IndexFunc(s.waiting, func(j batch.Job) bool { return j.ID == h.job.ID }), h.on)
			id := slices.IndexFunc(s.state.Jobs, func(j batch.Job) bool { return j.ID == h.job.ID })
			ends[h.job.ID] = s.now + runs.Run(&batch.Task{ID: int64(id), Limit: s.limit(h.job)}, 0)
			continue
		}
		s.now = ends[s.running[end].job.ID]
		s.running = slices.Delete(s.running, end, end+1)
		s.compress(&given)
	}
}

// first is the first of a list by a time, of equal ones the one set first; -1: there
// is none.
func (s *slowNodes) first(at func(slowHeld) int64, list []slowHeld) int {
	best := -1
	for i, h := range list {
		if best < 0 || at(h) < at(list[best]) || at(h) == at(list[best]) && h.set < list[best].set {
			best = i
		}
	}
	return best
}

// compress lifts each job out and puts it back.
func (s *slowNodes) compress(given *int) {
	for i := range s.places {
		was := s.places[i]
		if was.from <= s.now {
			continue
		}
		s.places[i].on = nil
		if at, on := s.earliest(was.job); at >= 0 && at < was.from {
			was = slowHeld{was.job, at, at + s.limit(was.job), on, *given}
			*given++
		}
		s.places[i] = was
	}
}

// denseScene is more jobs than plainScene on few nodes, of limits with ties.
func denseScene(seed uint64) batch.State {
	s := plainScene(seed)
	rng := rand.New(rand.NewPCG(seed, 43))
	for i := range 14 {
		j := sceneJob(rng, s, 100+i)
		j.Begin, j.After, j.Also, j.Reservation, j.Priority, j.Held = time.Time{}, nil, nil, "", 0, false
		if j.Queue == "shut" {
			j.Queue = ""
		}
		j.Submitted = s.Now.Add(time.Duration(i-50) * time.Second)
		s.Jobs = append(s.Jobs, j)
	}
	for i := range s.Jobs {
		s.Jobs[i].Requested = time.Duration(1+rng.IntN(12)) * time.Hour
	}
	return s
}

// TestConservativeNodeOracle compares starts and nodes under conservative backfill
// with those of the slow scheduler, where jobs end before their limits.
func TestConservativeNodeOracle(t *testing.T) {
	testbed.Computes(t)
	started, p := 0, batch.Policy{Name: "conservative"}
	for seed := range uint64(200) {
		s := denseScene(seed)
		for _, b := range []batch.Belief{batch.Estimate{}, thirds{}} {
			slow := slowNodes{state: s, policy: p, now: s.Now.Unix(), waiting: slices.Clone(s.Jobs)}
			slow.compressing(b)
			f := batch.Forecaster{Policy: p, Belief: b}
			got, err := batch.Placed(&f, s)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(slow.starts)
			if started += len(got); fmt.Sprint(got) != fmt.Sprint(slow.starts) {
				for i := range got {
					if i >= len(slow.starts) || got[i] != slow.starts[i] {
						t.Fatalf("seed %d, %T: %s, want %s", seed, b, got[i], slow.starts[min(i, len(slow.starts)-1)])
					}
				}
				t.Fatalf("seed %d, %T:\n%v\nwant\n%v", seed, b, got, slow.starts)
			}
		}
	}
	if started < 5000 {
		t.Errorf("only %d starts compared", started)
	}
}

// TestConservativeFar holds what a forecast of conservative backfill by nodes says beyond
// a day, where jobs end before their limits and it goes by steps, against one in which
// every end counts: the mean error as a part of the mean wait. Within the day, and where
// jobs take their limits, nothing differs.
func TestConservativeFar(t *testing.T) {
	testbed.Computes(t)
	const nodes, day = 40, 24 * 3600
	for _, b := range []batch.Belief{batch.Estimate{}, partly{}} {
		s := bigState(5*nodes, 10*nodes, nodes)
		f := batch.Forecaster{Policy: batch.Policy{Name: "conservative"}, Belief: b}
		out, err := f.Forecast(s)
		if err != nil {
			t.Fatal(err)
		}
		exact, err := batch.Exactly(&f, s)
		if err != nil || len(exact) != len(out.Jobs) {
			t.Fatalf("%T: %d starts, %d exactly, %v", b, len(out.Jobs), len(exact), err)
		}
		soon, off, wait := 0, 0.0, 0.0
		for _, e := range out.Jobs {
			got, want := int64(e.Start.Sub(s.Now)/time.Second), exact[e.ID]
			if want < day {
				soon++
			}
			if got != want && (want < day || b == batch.Belief(batch.Estimate{})) {
				t.Fatalf("%T: job %s starts after %d s, want %d", b, e.ID, got, want)
			}
			off, wait = off+math.Abs(float64(got-want)), wait+float64(want)
		}
		t.Logf("%T: %d starts in a day, of all %d %.1f %% off", b, soon, len(exact), 100*off/wait)
		if soon < 40 || off > 0.2*wait {
			t.Errorf("%T: too far off", b)
		}
	}
}
