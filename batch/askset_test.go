package batch_test

import (
	"fmt"
	"testing"
	"time"

	"gridbroker/batch"
)

// Jobs asked about may be the first that some nodes alone serve: asked again, and
// with another that such nodes serve in between, the answer is the same.
func TestAskAboutNewNodes(t *testing.T) {
	s := batch.State{Now: time.Unix(1_700_000_000, 0).UTC()}
	for i, features := range [][]string{nil, {"fast"}, {"fast", "big"}, {"big"}} {
		n := batch.Node{Name: fmt.Sprint("n", i), CPUs: 2, Memory: 8192, Features: features, Up: true}
		s.Nodes = append(s.Nodes, n)
		s.Jobs = append(s.Jobs, batch.Job{
			ID: fmt.Sprint("r", i), Procs: 2, Requested: time.Duration(i+1) * time.Hour, Started: s.Now, Placed: []batch.Placement{{Node: n.Name, Procs: 2}},
		})
	}
	s.Jobs = append(s.Jobs, batch.Job{ID: "w", Procs: 1, Memory: 100, Requested: time.Hour, Submitted: s.Now})
	for _, policy := range []string{"easy", "conservative", "slurm"} {
		f := batch.Forecaster{Policy: batch.Policy{Name: policy}}
		live, err := f.Live(s)
		if err != nil {
			t.Fatal(err)
		}
		out, err := f.Forecast(s)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			for _, v := range []struct {
				features []string
				want     time.Duration
			}{{[]string{"fast"}, 2 * time.Hour}, {[]string{"big"}, 3 * time.Hour}, {[]string{"fast", "big"}, 3 * time.Hour}, {nil, time.Hour}} {
				e, why := out.Ask(batch.Job{ID: "asked", Procs: 1, Requested: time.Hour, Features: v.features}, 0)
				// a place by Slurm's rules keeps its node to itself
				if why.Cause != "" || policy != "slurm" && e.Start.Sub(s.Now) < v.want || policy != "slurm" && e.Start.Sub(s.Now) > v.want {
					t.Errorf("%s, %v: start after %v, want %v: %+v", policy, v.features, e.Start.Sub(s.Now), v.want, why)
				}
				at := live.Near(0).Earliest([]batch.Size{{Procs: 1, Duration: time.Hour, Features: v.features}})[0]
				if !at.Equal(e.Start) {
					t.Errorf("%s, %v: %v by Live, %v by a forecast", policy, v.features, at, e.Start)
				}
			}
		}
	}
}
