package batch

import (
	"testing"
	"time"
)

// TestSlurmFarLets: in the steps behind bf_window the first of a partition who may not start, as another has what
// both take, keeps nobody behind him from starting where bf_max_job_test ends backfill before these.
func TestSlurmFarLets(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	runs := func(id, node string, limit time.Duration) Job {
		return Job{ID: id, Procs: 1, Started: now, Requested: limit, Placed: []Placement{{node, 1}}}
	}
	waits := func(id string, procs int) Job { return Job{ID: id, Procs: procs, Submitted: now, Requested: time.Hour} }
	holds, barred := runs("holds", "m", 90*time.Hour), waits("barred", 2)
	holds.Takes, barred.Takes, barred.Priority = []Take{{Cap: "l", Amount: 1}}, []Take{{Cap: "l", Amount: 1}}, 9
	f := Forecaster{Policy: Policy{Name: "slurm", Slurm: Slurm{Window: time.Hour, MaxJobTest: 1}}}
	out, err := f.Forecast(State{
		Now: now, Caps: []Cap{{Name: "l", Most: 1}}, Nodes: []Node{{Name: "n", CPUs: 2, Up: true}, {Name: "m", CPUs: 1, Up: true}},
		Jobs: []Job{runs("1", "n", 40*time.Hour), runs("2", "n", 40*time.Hour), holds, barred, waits("3", 1), waits("4", 1)},
	})
	if err != nil || len(out.Jobs) != 3 {
		t.Fatalf("%+v, %v", out, err)
	}
	for _, e := range out.Jobs {
		switch at := e.Start.Sub(now); {
		case e.ID == "barred" && at < 90*time.Hour, e.ID != "barred" && at != 40*time.Hour:
			t.Errorf("%s starts %v", e.ID, at)
		}
	}
}
