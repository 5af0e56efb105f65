package batch_test

import (
	"testing"
	"time"

	"gridbroker/batch"
)

// TestNodeHeldTwice: where two jobs have all of a node, as under OverSubscribe=FORCE:2, it is free
// when the second of them ends, whichever stands first. Slurm 22.05 plans a job of another partition so.
func TestNodeHeldTwice(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	runs := func(id string, minutes int) batch.Job {
		return batch.Job{ID: id, Procs: 8, Started: now, Requested: time.Duration(minutes) * time.Minute, Placed: []batch.Placement{{Node: "n", Procs: 8}}}
	}
	for _, jobs := range [][]batch.Job{{runs("1", 2), runs("2", 10)}, {runs("1", 10), runs("2", 2)}} {
		for _, policy := range []string{"fcfs", "easy", "conservative", "slurm"} {
			s := batch.State{Now: now, Nodes: []batch.Node{{Name: "n", CPUs: 8, Up: true}}, Jobs: append(jobs, batch.Job{ID: "3", Procs: 8, Submitted: now, Requested: time.Minute})}
			f := batch.Forecaster{Policy: batch.Policy{Name: policy}}
			out, err := f.Forecast(s)
			if err != nil || len(out.Jobs) != 1 || out.Jobs[0].Start.Sub(now) != 10*time.Minute {
				t.Errorf("%s: %+v, %v", policy, out.Jobs, err)
			}
		}
	}
}
