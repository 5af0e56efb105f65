package scheduler

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"testing"
	"testing/cryptotest"
	"time"

	"gridbroker/testdata/testbed"
)

var (
	seeds = flag.Uint64("seeds", 0, "seeds of the simulation; 0: five, or one under the race detector")
	first = flag.Uint64("first", 0, "the first of them")
	hours = flag.Int("hours", 1, "hours it runs for")
)

// Hours of a grid with faults of every kind: no job is lost or run to its end
// twice, nothing is booked twice or by a schedule that is out of date, the ledger
// is balanced. Clocks are up to 30 s off; messages are lost, come twice and late;
// leaders and senders are killed; the database undoes what it was told, or does
// not say that it has done it.
func TestSimulation(t *testing.T) {
	n, turns, beats := cmp.Or(*seeds, unlessRacing(t, uint64(5), 1)), 0, 0
	for seed := *first; seed < *first+n; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := simulate(t, sqliteDSN(t), seed, 0.03, *hours)
			turns, beats = turns+w.turns, beats+w.beats
		})
	}
	if beats == 0 {
		t.Error("no beat was answered")
	}
	if n >= 5 && turns == 0 { // an hour has a few, or none
		t.Error("nobody was put into a queue")
	}
}

// TestSimulationIsDecidedByItsSeed: a story is the same whenever it is told, to
// the last entry of the log, so that a fault that it finds can be looked at again.
func TestSimulationIsDecidedByItsSeed(t *testing.T) {
	testbed.Computes(t)
	var before string
	for range 3 {
		t.Run("", func(t *testing.T) {
			cryptotest.SetGlobalRandom(t, 7) // the ids of jobs
			w := simulate(t, sqliteDSN(t), 7, 0.05, 2)
			log, err := w.store.Log(t.Context(), "", 0, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(log)
			if err != nil || len(log) < 100 {
				t.Fatal(len(log), err)
			}
			if now := string(text); before == "" {
				before = now
			} else if now != before {
				at := 0
				for at < min(len(now), len(before)) && now[at] == before[at] {
					at++
				}
				t.Errorf("another story from byte %d of %d: %.300s\nwas %.300s", at, len(now), now[max(0, at-100):], before[max(0, at-100):])
			}
		})
	}
}

func TestSimulationWithoutFaults(t *testing.T) {
	testbed.Computes(t)
	w := simulate(t, sqliteDSN(t), 99, 0, 2)
	var hits, misses int64
	for _, c := range w.s.mem.clusters {
		hits, misses = hits+c.hits, misses+c.misses
	}
	if share := float64(hits) / float64(hits+misses); hits < 20 || share < 0.8 {
		t.Errorf("%d of %d began in their slots", hits, hits+misses)
	}
}

// Jobs of one node and high priority come faster than the site can run them, with
// faults. A job of three nodes that everybody outranks waits as long as there is
// no bound to those that go before it; with it, it is booked after those, the ones
// of the cycle in which the bound was reached, and what leaders forgot that died.
func TestNobodyStarves(t *testing.T) {
	testbed.Computes(t)
	for _, bound := range []int{20, 1_000_000} {
		w := newWorld(t, sqliteDSN(t), 5, 0.03, 12)
		w.conf.MaxBypass = bound
		w.restart()
		n := 0
		stream := func() {
			n++
			w.submitJob("many", fmt.Sprint("k", n), "[ Executable = \"/bin/true\"; WallTime = 600; Requirements = true; ]", 5)
			w.step(30)
			w.check()
		}
		for range 40 {
			stream()
		}
		wide := w.submitJob("one", "wide", "[ Executable = \"/bin/true\"; WallTime = 600; Requirements = true; CpuNumber = 3; ]", 0.5)
		for w.job(wide).Tries == 0 && w.now.Sub(simEpoch) < 2*time.Hour {
			stream()
		}
		j := w.job(wide)
		if bound == 20 && (j.Tries == 0 || j.Bypassed > 3*int32(bound)) || bound > 20 && j.Tries > 0 {
			t.Errorf("bound %d: %d bookings after %s and %d jobs that went before it", bound, j.Tries, w.now.Sub(simEpoch), j.Bypassed)
		}
	}
}

func simulate(t *testing.T, dsn string, seed uint64, fault float64, hours int) *world {
	w := newWorld(t, dsn, seed, fault, 12, 5)
	var jobs []string // each once, as submitted
	taken := func(id string) {
		if !slices.Contains(jobs, id) {
			jobs = append(jobs, id)
		}
	}
	n := 0
	for second := 0; second < hours*3600; second += 30 {
		if w.r.IntN(4) == 0 {
			n++
			if n%15 == 0 { // three nodes at once, and everybody else goes ahead
				text := "[ Executable = \"/bin/true\"; JobName = \"wide\"; WallTime = 900; Requirements = true; CpuNumber = 3; ]"
				taken(w.submitJob("user0", fmt.Sprint("w", n), text, 0.5))
			}
			taken(w.submit(fmt.Sprint("user", w.r.IntN(3)), fmt.Sprint("k", n), 120+w.r.IntN(1200)))
		}
		if len(jobs) > 0 && w.r.IntN(60) == 0 {
			id := jobs[w.r.IntN(len(jobs))]
			list, err := w.s.Jobs(t.Context(), Person{Admin: true}, []string{id})
			if err != nil || len(list) != 1 {
				t.Fatal("a job is lost", id, err)
			}
			w.survives(func() error { return w.s.Cancel(t.Context(), Person{Subject: list[0].Owner}, id) })
		}
		w.holdSome(jobs)
		w.step(30)
		w.check()
	}
	for _, id := range jobs {
		w.steer(id, false)
	}
	t.Logf("the longest wait for a first slot: %d s; %d times put into a queue", w.longest, w.turns)
	w.fault = 0
	for range 600 {
		w.step(30)
		if len(w.s.mem.jobs.of) == 0 {
			break
		}
	}
	w.settled(jobs)
	if fault > 0 && hours > 3 && (w.broke["undone"] == 0 || w.broke["not confirmed"] == 0) {
		t.Errorf("the database never failed: %v", w.broke)
	}
	return w
}

// settled checks the ends of all jobs.
func (w *world) settled(jobs []string) {
	t := w.t
	ctx := context.Background()
	done := 0
	for _, id := range jobs {
		list, err := w.s.Jobs(ctx, Person{Admin: true}, []string{id})
		if err != nil || len(list) != 1 {
			t.Fatal("a job is lost:", id, err)
		}
		runs := 0
		for _, s := range w.sites {
			runs += s.runs[id]
			if s.live[id] > 0 {
				t.Errorf("job %s still runs at %s", id, s.name)
			}
		}
		j := list[0]
		switch {
		case j.State == Done && runs == 1:
			done++
		case j.State == Cancelled && runs == 0:
		default:
			log, _ := w.store.Log(ctx, id, 0, 100)
			t.Errorf("job %s is %s (%s) and ran %d times to its end\n%+v", id, j.State, j.Reason, runs, log)
		}
	}
	if done < len(jobs)/2 {
		t.Errorf("%d of %d done", done, len(jobs))
	}
	if sum, err := w.store.Audit(ctx); err != nil || sum != 0 {
		t.Errorf("the ledger adds up to %d, %v", sum, err)
	}
}

// unlessRacing is the whole of a thing, or a part of it: what the race detector
// makes long runs whole without it, in the same make test.
func unlessRacing[T any](t *testing.T, whole, part T) T {
	if testbed.Whole(t) {
		return whole
	}
	return part
}
