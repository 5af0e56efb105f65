package batch_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/testdata/testbed"
)

// TestEngineForecast runs random scenes to their end, every job to its limit:
// what starts when and where is what a forecast that believes the limits says, but where
// somebody waits for how such a job ends.
func TestEngineForecast(t *testing.T) {
	testbed.Computes(t)
	for seed := range uint64(200) {
		s := scene(rand.New(rand.NewPCG(seed, 17)))
		s.Nodes[0].Queues = []string{"p1", "p2"} // so that both plan by nodes
		for _, j := range s.Jobs {
			for i := range j.After {
				if j.After[i].On != batch.OnStart {
					j.After[i].On = batch.OnEnd
				}
			}
		}
		for _, p := range scenePolicies() {
			p.Slurm = batch.Fine(p.Slurm) // an engine charts no pass
			e, err := batch.NewEngine(s, p)
			if err != nil {
				t.Fatal(err)
			}
			f := batch.Forecaster{Policy: p}
			out, err := f.Forecast(s)
			if err != nil {
				t.Fatal(err)
			}
			refused := len(e.Refused())
			var got, want []string
			e.Observe(func(v batch.Event) {
				if v.Kind == batch.Started {
					got = append(got, fmt.Sprint(v.Job.ID, " ", v.At.Sub(s.Now), v.Job.Placed))
				}
			})
			for e.Step() {
			}
			for _, x := range out.Jobs {
				want = append(want, fmt.Sprint(x.ID, " ", x.Start.Sub(s.Now), x.Placed))
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("seed %d, %v:\n%v\nwant\n%v", seed, p, got, want)
			}
			if e.Waiting() != len(out.Refused)-refused {
				t.Fatalf("seed %d, %v: %d wait at the end, %d are refused", seed, p, e.Waiting(), len(out.Refused))
			}
		}
	}
}

// TestEngineReplay submits random workloads job by job to an engine of one node:
// the starts are those of a replay.
func TestEngineReplay(t *testing.T) {
	for name, p := range oracleCases() {
		for seed := range uint64(15) {
			rng := rand.New(rand.NewPCG(seed, 19))
			procs := 1 + rng.IntN(12)
			tasks := workload(rng, 60, procs)
			want := replay(t, tasks, procs, p)
			epoch := time.Unix(0, 0).UTC()
			e, err := batch.NewEngine(batch.State{Now: epoch, Nodes: []batch.Node{{Name: "n", CPUs: procs, Up: true}}}, p)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]int64, len(want))
			e.Observe(func(v batch.Event) {
				if v.Kind == batch.Started {
					var id int
					fmt.Sscan(v.Job.ID, &id)
					got[id] = v.At.Unix()
				}
			})
			second := func(n int64) time.Duration { return time.Duration(n) * time.Second }
			for _, k := range tasks {
				j := batch.Job{ID: fmt.Sprint(k.ID), User: "u", Procs: k.Procs, Requested: second(k.Limit), Submitted: epoch.Add(second(k.Submit))}
				if err := e.Submit(j, second(k.Run)); err != nil {
					t.Fatal(err)
				}
			}
			for e.Step() {
			}
			for id := range want {
				if got[id] != want[id] {
					t.Fatalf("%s, seed %d: job %d starts at %d, want %d", name, seed, id, got[id], want[id])
				}
			}
		}
	}
}

// TestEngine tells the story of a day on two nodes.
func TestEngine(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	at := func(m int) time.Time { return now.Add(time.Duration(m) * time.Minute) }
	nodes := []batch.Node{{Name: "a", CPUs: 2, Up: true}, {Name: "b", CPUs: 2, Up: true}}
	e, err := batch.NewEngine(batch.State{Now: now, Nodes: nodes, Queues: []batch.Queue{{Name: "q", MaxProcs: 4}}}, batch.Policy{Name: "easy"})
	if err != nil {
		t.Fatal(err)
	}
	story := ""
	e.Observe(func(v batch.Event) {
		story += fmt.Sprintf("%v %s %s %v\n", v.At.Sub(now), v.Job.ID, v.Kind, v.Job.Placed)
	})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	job := func(id string, procs, submitted int) batch.Job {
		return batch.Job{ID: id, Queue: "q", Procs: procs, Requested: time.Hour, Submitted: at(submitted)}
	}
	must(e.Submit(job("1", 2, 0), 0))
	must(e.Submit(job("2", 4, 1), 30*time.Minute))
	must(e.Submit(job("3", 2, 2), 50*time.Minute))
	short := job("4", 1, 3)
	short.Requested = 50 * time.Minute
	must(e.Submit(short, 2*time.Hour))
	must(e.Cancel("3", at(5)))
	must(e.End("1", at(10)))
	must(e.Configure([]batch.Node{nodes[0], {Name: "b", CPUs: 2}}, nil, nil, at(45)))
	for e.Step() {
	}
	if want := `0s 1 submitted []
0s 1 started [{a 2}]
1m0s 2 submitted []
2m0s 3 submitted []
3m0s 4 submitted []
3m0s 4 started [{b 1}]
5m0s 3 cancelled []
10m0s 1 ended [{a 2}]
45m0s 4 node lost [{b 1}]
`; story != want {
		t.Errorf("got\n%swant\n%s", story, want)
	}
	var refused *batch.RefusedError
	if err := e.Submit(job("5", 5, 60), time.Hour); !errors.As(err, &refused) || refused.Cause != batch.TooLarge {
		t.Errorf("error %v", err)
	}
	var past *batch.PastError
	if err := e.Submit(job("6", 1, 20), time.Hour); !errors.As(err, &past) {
		t.Errorf("error %v", err)
	}
	var unknown *batch.UnknownJobError
	if err := e.End("7", at(70)); !errors.As(err, &unknown) {
		t.Errorf("error %v", err)
	}
	if list := e.Refused(); len(list) != 1 || list[0].ID != "2" || list[0].Cause != batch.TooLarge {
		t.Errorf("refused %+v", list)
	}
	if s := e.State(); len(s.Jobs) != 1 || !e.Next().IsZero() || !s.Now.Equal(at(70)) {
		t.Errorf("at the end %+v", s)
	}
}

// When the only node of a pool goes down, what runs on it is lost, nothing starts on what that leaves, and
// jobs that wait until it is back run as long as they were submitted to; one that is cancelled meanwhile does not.
func TestPoolThatGoesDown(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	at := func(m int) time.Time { return now.Add(time.Duration(m) * time.Minute) }
	node := func(up bool) []batch.Node { return []batch.Node{{Name: "all", CPUs: 2, Up: up}} }
	e, err := batch.NewEngine(batch.State{Now: now, Nodes: node(true)}, batch.Policy{Name: "fcfs"})
	if err != nil {
		t.Fatal(err)
	}
	story := ""
	e.Observe(func(v batch.Event) {
		if v.Kind != batch.Submitted {
			story += fmt.Sprintf("%v %s %s\n", v.At.Sub(now), v.Job.ID, v.Kind)
		}
	})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, id := range []string{"one", "two", "three", "four"} {
		must(e.Submit(batch.Job{ID: id, Procs: min(2, i+1), Requested: time.Hour, Submitted: at(i)}, 5*time.Minute))
	}
	must(e.Configure(node(false), nil, nil, at(4)))
	must(e.Cancel("three", at(10)))
	must(e.Configure(node(false), nil, nil, at(20)))
	must(e.Configure(node(true), nil, nil, at(30)))
	for e.Step() {
	}
	if want := "0s one started\n4m0s one node lost\n10m0s three cancelled\n30m0s two started\n35m0s two ended\n35m0s four started\n40m0s four ended\n"; story != want {
		t.Errorf("got\n%swant\n%s", story, want)
	}
}
