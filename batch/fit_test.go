package batch_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/testdata/testbed"
)

// watched runs a cluster of so many processors under a policy, with random jobs,
// and shows it to an observer every minute: the jobs of hidden users run as
// nobody's, and are not seen waiting.
func watched(t *testing.T, p batch.Policy, seed uint64, hours int, hidden float64, look func(batch.State, []batch.Ending)) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 71))
	now := time.Unix(1_700_000_000, 0).UTC()
	s := batch.State{Now: now, Nodes: []batch.Node{{Name: "n1", CPUs: 16, Up: true}, {Name: "n2", CPUs: 16, Up: true}}}
	e, err := batch.NewEngine(s, p)
	if err != nil {
		t.Fatal(err)
	}
	secret := map[string]bool{}
	var ended []batch.Ending
	e.Observe(func(v batch.Event) {
		if (v.Kind == batch.Ended || v.Kind == batch.TimedOut) && !secret[v.Job.ID] {
			ended = append(ended, batch.Ending{ID: v.Job.ID, Started: v.Job.Started, Ended: v.At})
		}
	})
	next, id := now, 0
	for minute := range hours * 60 {
		at := now.Add(time.Duration(minute) * time.Minute)
		for !next.After(at) {
			id++
			j := batch.Job{ID: fmt.Sprint(id), User: fmt.Sprint("u", rng.IntN(6)), Procs: 1 << rng.IntN(6), Submitted: next, Requested: time.Duration(5+rng.IntN(120)) * time.Minute}
			secret[j.ID] = rng.Float64() < hidden
			if err := e.Submit(j, time.Duration(float64(j.Requested)*(0.1+0.9*rng.Float64())).Truncate(time.Second)); err != nil {
				t.Fatal(err)
			}
			next = next.Add(time.Duration(60+rng.IntN(1200)) * time.Second)
		}
		if err := e.Advance(at); err != nil {
			t.Fatal(err)
		}
		seen := e.State()
		jobs := seen.Jobs
		seen.Jobs = nil
		for _, j := range jobs {
			if secret[j.ID] && j.Started.IsZero() {
				continue
			}
			if secret[j.ID] {
				j.User = ""
			}
			seen.Jobs = append(seen.Jobs, j)
		}
		look(seen, ended)
		ended = nil
	}
}

func fitCandidates() []batch.Policy {
	return []batch.Policy{{Name: "easy"}, {Name: "fcfs"}, {Name: "conservative"}, {Name: "easy-sjbf"}, {Name: "slurm"}}
}

// The policy of a cluster is found by watching it, whichever it is, and where all
// is seen it is one that foretells what starts; what was learned outlasts a
// restart.
func TestFit(t *testing.T) {
	testbed.Computes(t)
	for _, truth := range fitCandidates() {
		for seed := range uint64(2) {
			f := batch.NewFit(fitCandidates()...)
			watched(t, truth, seed, 36, 0, func(s batch.State, ended []batch.Ending) { f.Look(s, ended) })
			share, windows := f.Misses()
			t.Logf("%s, seed %d: %s, misses %.3f in %.0f windows, %.2f", truth.Name, seed, f.Best().Name, share, windows, weights(f))
			most := 0.15
			if truth.Name == "conservative" {
				most = 0.5 // what it has promised cannot be seen
			}
			if f.Best().Name != truth.Name || share > most {
				t.Errorf("%s, seed %d: found %s, misses %.3f", truth.Name, seed, f.Best().Name, share)
			}
			document, err := json.Marshal(f)
			if err != nil {
				t.Fatal(err)
			}
			again := batch.NewFit(fitCandidates()...)
			if err := json.Unmarshal(document, again); err != nil || again.Best().Name != f.Best().Name {
				t.Errorf("recalled %s, %v", again.Best().Name, err)
			}
			if err := json.Unmarshal(document, batch.NewFit(fitCandidates()[:2]...)); err == nil {
				t.Error("a memory of other candidates is taken")
			}
		}
	}
}

func weights(f *batch.Fit) (list []float64) {
	for _, w := range f.Weights() {
		list = append(list, w.Weight)
	}
	return list
}

// Where three of ten jobs are not seen waiting, and run as nobody's, the policy is
// still held for likely, and more starts come otherwise than foretold.
func TestFitHidden(t *testing.T) {
	testbed.Computes(t)
	for _, truth := range fitCandidates() {
		f, open := batch.NewFit(fitCandidates()...), batch.NewFit(fitCandidates()...)
		watched(t, truth, 1, 36, 0.3, func(s batch.State, ended []batch.Ending) { f.Look(s, ended) })
		watched(t, truth, 1, 36, 0, func(s batch.State, ended []batch.Ending) { open.Look(s, ended) })
		share, windows := f.Misses()
		all, _ := open.Misses()
		t.Logf("%s: %s, misses %.3f in %.0f windows (%.3f where all is seen), %.2f", truth.Name, f.Best().Name, share, windows, all, weights(f))
		for _, w := range f.Weights() {
			if w.Policy.Name == truth.Name && (w.Weight < 0.3 || share <= all) {
				t.Errorf("%s: weight %.2f, found %s, misses %.3f, %.3f where all is seen", truth.Name, w.Weight, f.Best().Name, share, all)
			}
		}
	}
}
