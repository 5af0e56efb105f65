package batch_test

import (
	"fmt"
	"testing"
	"time"

	"gridbroker/batch"
)

// TestSlurmBeside: a place keeps all others off its node, the job that starts in
// it only what it has. The first job's place begins in an hour, with one of four
// processors left; the second needs all four; the third would wait for both, and
// starts beside the first in the next pass, however many wait behind it.
func TestSlurmBeside(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	for _, behind := range []int{0, 30, 100} {
		s := batch.State{
			Now: now, Nodes: []batch.Node{{Name: "n", CPUs: 4, Up: true}},
			Jobs: []batch.Job{{ID: "r", Procs: 4, Requested: time.Hour, Started: now}},
		}
		for i := range 3 + behind {
			j := batch.Job{ID: fmt.Sprint(1 + i), User: "u", Procs: 4, Requested: 30 * time.Minute, Submitted: now.Add(-time.Hour)}
			switch i {
			case 0:
				j.Procs = 3
			case 2:
				j.Procs, j.Requested = 1, 20*time.Minute
			}
			s.Jobs = append(s.Jobs, j)
		}
		f := batch.Forecaster{Policy: batch.Policy{Name: "slurm", Slurm: batch.Fine(batch.Slurm{})}}
		out, err := f.Forecast(s)
		if err != nil {
			t.Fatal(err)
		}
		at := map[string]time.Duration{}
		for _, e := range out.Jobs {
			at[e.ID] = e.Start.Sub(now)
		}
		if len(out.Jobs) != 3+behind || at["1"] != time.Hour || at["3"] != time.Hour+time.Second || at["2"] != time.Hour+30*time.Minute {
			t.Errorf("%d behind: %d jobs, the first at %s, the second at %s, the third at %s", behind, len(out.Jobs), at["1"], at["2"], at["3"])
		}
	}
}
