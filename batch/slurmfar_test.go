package batch_test

import (
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/testdata/testbed"
)

// partly believes that jobs run any part of their limit, by their number.
type partly struct{ batch.Estimate }

// Run implements batch.Belief.
func (partly) Run(t *batch.Task, elapsed int64) int64 {
	part := uint64(t.ID+1) * 0x9e3779b97f4a7c15 >> 11
	return max(t.Limit/10+int64(float64(t.Limit)*0.9*float64(part)/(1<<53)), elapsed+1)
}

// giveWay has a tenth of the jobs of the one partition of a state in another, to which the others give way.
func giveWay(s *batch.State, p *batch.Slurm) {
	p.Preemption.Type = "partition_prio"
	s.Queues[0].Priority, s.Queues[0].PreemptMode = 1, batch.PreemptRequeue
	s.Queues = append(s.Queues, batch.Queue{Name: "high", Priority: 5})
	for i := range s.Nodes {
		if s.Nodes[i].Queues[0] == "cpu" {
			s.Nodes[i].Queues = []string{"cpu", "high"}
		}
	}
	for i := range s.Jobs {
		if s.Jobs[i].Queue == "cpu" && i%10 == 3 {
			s.Jobs[i].Queue = "high"
		}
	}
}

// TestSlurmFar holds what a forecast says beyond bf_window, where it goes by steps,
// against a Slurm all of whose passes are exact: the mean error of all starts, and of
// those of the next day, as a part of their mean wait, where jobs take their limit, where
// they end before and where some give way, which nobody does in steps. Within bf_window the starts are the same, and so are the first 400 of four times that,
// or fewer where some start more than once.
func TestSlurmFar(t *testing.T) {
	testbed.Computes(t)
	const nodes, day = 200, 24 * 3600
	for name, c := range map[string]struct {
		belief         batch.Belief
		as             func(*batch.State, *batch.Slurm)
		all, soon, off float64 // of all, of those of the second day, and by how much the mean wait may be another
		sure           int     // so many starts are the same
	}{
		"by limits":           {batch.Estimate{}, func(*batch.State, *batch.Slurm) {}, 0.03, 0.06, 0.02, 400},
		"before their limits": {partly{}, func(*batch.State, *batch.Slurm) {}, 0.1, 0.2, 0.08, 400},
		"some give way":       {batch.Estimate{}, giveWay, 0.03, 0.06, 0.02, 250},
	} {
		s, p := bigState(5*nodes, 10*nodes, nodes), batch.Fine(batch.Slurm{})
		c.as(&s, &p)
		f := batch.Forecaster{Policy: batch.Policy{Name: "slurm", Slurm: p}, Belief: c.belief}
		out, err := f.Forecast(s)
		if err != nil {
			t.Fatal(err)
		}
		exact, err := batch.Exactly(&f, s)
		if err != nil || len(exact) != len(out.Jobs) || len(exact) != 10*nodes {
			t.Fatalf("%s: %d starts, %d exactly, %v", name, len(out.Jobs), len(exact), err)
		}
		soon := min(slices.Sorted(maps.Values(exact))[c.sure], 4*day)
		var n, off, wait, told [2]float64
		for _, e := range out.Jobs {
			got, want, in := int64(e.Start.Sub(s.Now)/time.Second), exact[e.ID], []int{1}
			switch {
			case want < max(day, soon) && got != want:
				t.Fatalf("%s: job %s starts after %d s, want %d", name, e.ID, got, want)
			case want >= day && want < 2*day:
				in = append(in, 0)
			}
			for _, i := range in {
				n[i]++
				off[i] += math.Abs(float64(got - want))
				wait[i] += float64(want)
				told[i] += float64(got)
			}
		}
		t.Logf("%s: of %.0f starts of the second day %.1f %% off, of all %.1f %% (mean wait %.0f s, told %.0f)", name, n[0], 100*off[0]/wait[0], 100*off[1]/wait[1], wait[1]/n[1], told[1]/n[1])
		if off[1] == 0 {
			t.Errorf("%s: it does not go by steps", name)
		}
		if n[0] < 50 || off[0] > c.soon*wait[0] || off[1] > c.all*wait[1] || math.Abs(told[1]-wait[1]) > c.off*wait[1] {
			t.Errorf("%s: too far off", name)
		}
	}
}

// TestSlurmGivesWayCost: who might give way is not looked for anew among all jobs for each job that
// waits: an event on a cluster on which a tenth of the jobs have others give way.
func TestSlurmGivesWayCost(t *testing.T) {
	testbed.Computes(t)
	s, p := bigState(2000, 8000, 400), batch.Slurm{}
	giveWay(&s, &p)
	f := batch.Forecaster{Policy: batch.Policy{Name: "slurm", Slurm: p}}
	live, err := f.Live(s)
	if err != nil {
		t.Fatal(err)
	}
	testbed.Within(t, 350*time.Millisecond, 1<<30, func() {
		live.Near(6 * time.Hour)
	})
}

// TestSlurmFarComes: beyond bf_window a job that comes between two steps, as one that it waited for has
// ended, starts at once where it has room, and not with the next step.
func TestSlurmFarComes(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	s := batch.State{Now: now, Nodes: []batch.Node{{Name: "n", CPUs: 2, Up: true}}, Queues: []batch.Queue{{Name: "p"}}}
	for id, limit := range map[string]time.Duration{"1": 10*time.Hour + 7*time.Minute, "2": 40 * time.Hour} {
		s.Jobs = append(s.Jobs, batch.Job{ID: id, Queue: "p", Procs: 1, Started: now, Requested: limit, Placed: []batch.Placement{{Node: "n", Procs: 1}}})
	}
	s.Jobs = append(s.Jobs, batch.Job{ID: "3", Queue: "p", Procs: 2, Submitted: now, Requested: time.Hour},
		batch.Job{ID: "4", Queue: "p", Procs: 1, Submitted: now, Requested: time.Hour, After: []batch.Dependency{{ID: "1", On: batch.OnEnd}}})
	f := batch.Forecaster{Policy: batch.Policy{Name: "slurm", Slurm: batch.Slurm{Window: time.Hour}}}
	out, err := f.Forecast(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range out.Jobs {
		if want := map[string]time.Duration{"3": 40 * time.Hour, "4": 10*time.Hour + 7*time.Minute}[e.ID]; e.Start.Sub(now) != want {
			t.Errorf("%s starts %v, want %v", e.ID, e.Start.Sub(now), want)
		}
	}
}

// TestSlurmWindowMoves: a job that had no place within bf_window has one as soon as that reaches so far, in
// a pass that keeps the places of others, and is not delayed by one that comes behind it.
func TestSlurmWindowMoves(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	s := batch.State{Now: now, Nodes: []batch.Node{{Name: "n", CPUs: 4, Up: true}}, Queues: []batch.Queue{{Name: "p"}},
		Jobs: []batch.Job{
			{ID: "1", Queue: "p", Procs: 3, Started: now, Requested: 90 * time.Minute, Placed: []batch.Placement{{Node: "n", Procs: 3}}},
			{ID: "2", Queue: "p", Procs: 4, Submitted: now, Requested: 30 * time.Minute},
			{ID: "3", Queue: "p", Procs: 1, Submitted: now, Requested: time.Hour, Begin: now.Add(45 * time.Minute)},
		}}
	f := batch.Forecaster{Policy: batch.Policy{Name: "slurm", Slurm: batch.Fine(batch.Slurm{Window: time.Hour})}}
	out, err := f.Forecast(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range out.Jobs {
		if want := map[string]time.Duration{"2": 90 * time.Minute, "3": 2 * time.Hour}[e.ID]; e.Start.Sub(now) != want {
			t.Errorf("%s starts %v, want %v", e.ID, e.Start.Sub(now), want)
		}
	}
}

// tenth believes that jobs with a limit of ten hours run for one.
type tenth struct{ batch.Estimate }

// Run implements batch.Belief.
func (tenth) Run(t *batch.Task, elapsed int64) int64 {
	if t.Limit == 36000 {
		return max(3600, elapsed+1)
	}
	return max(t.Limit, elapsed+1)
}

// TestSlurmBehindAPlace: what comes free of a node early is for those behind a place on it, too, when that
// is over, where every job has its place (bf_max_job_user is counted): of a node of four processors one
// comes free after an hour of ten. The job that wants three has them when two others are free, as before,
// and the one that wants all follows it.
func TestSlurmBehindAPlace(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	s := batch.State{Now: now, Nodes: []batch.Node{{Name: "n", CPUs: 4, Up: true}}, Queues: []batch.Queue{{Name: "p"}},
		Jobs: []batch.Job{
			{ID: "1", Queue: "p", Procs: 2, Started: now, Requested: 2 * time.Hour, Placed: []batch.Placement{{Node: "n", Procs: 2}}},
			{ID: "2", Queue: "p", Procs: 1, Started: now, Requested: 10 * time.Hour, Placed: []batch.Placement{{Node: "n", Procs: 1}}},
			{ID: "3", Queue: "p", Procs: 3, Submitted: now, Requested: time.Hour},
			{ID: "4", Queue: "p", Procs: 4, Submitted: now, Requested: time.Hour},
		}}
	f := batch.Forecaster{Policy: batch.Policy{Name: "slurm", Slurm: batch.Fine(batch.Slurm{MaxJobUser: 1000})}, Belief: tenth{}}
	out, err := f.Forecast(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range out.Jobs {
		if want := map[string]time.Duration{"3": 2 * time.Hour, "4": 3 * time.Hour}[e.ID]; e.Start.Sub(now) != want {
			t.Errorf("%s starts %v, want %v", e.ID, e.Start.Sub(now), want)
		}
	}
}
