package batch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/batch"
)

// TestEndsDecide: who waits for the success of a job that runs to its limit, loses its node or is cancelled never starts, who waits
// for its failure does, and of one that ends before its limit the other way round; who waits for its end starts in any case
// (22.05: of a job with TIMEOUT and one with CANCELLED). It is the same where the engine is set up anew after that,
// and in forecasts from the state that it gives.
func TestEndsDecide(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	nodes := []batch.Node{{Name: "n", CPUs: 8, Up: true}, {Name: "m", CPUs: 4, Up: true}}
	well, ill := "any late ok start", "any late not start"
	for how, want := range map[string]string{"ends": well, "is told to end": well, "reaches its limit": ill, "loses its node": ill, "is cancelled": ill} {
		for _, anew := range []bool{false, true} {
			e, err := batch.NewEngine(batch.State{Now: now, Nodes: nodes}, batch.Policy{Name: "slurm"})
			if err != nil {
				t.Fatal(err)
			}
			submit := func(id string, run time.Duration, after ...batch.Dependency) {
				t.Helper()
				j := batch.Job{ID: id, Procs: 1, Requested: time.Hour, Submitted: now, After: after}
				if id == "x" {
					j.Within = []string{"m"}
				}
				if err := e.Submit(j, run); err != nil {
					t.Fatal(err)
				}
			}
			var started []string
			e.Observe(func(v batch.Event) {
				if v.Kind == batch.Started {
					started = append(started, v.Job.ID)
				}
			})
			submit("x", map[string]time.Duration{"ends": time.Minute}[how])
			submit("ok", time.Minute, batch.Dependency{ID: "x", On: batch.OnSuccess})
			submit("not", time.Minute, batch.Dependency{ID: "x", On: batch.OnFailure})
			submit("any", time.Minute, batch.Dependency{ID: "x", On: batch.OnEnd})
			submit("late", time.Minute, batch.Dependency{ID: "x", On: batch.OnEnd, Delay: time.Hour})
			submit("start", time.Minute, batch.Dependency{ID: "x", On: batch.OnStart})
			end := now.Add(time.Minute)
			switch how {
			case "is told to end":
				err = e.End("x", end)
			case "is cancelled":
				err = e.Cancel("x", end)
			case "loses its node":
				err = e.Configure(nodes[:1], nil, nil, end)
			case "reaches its limit":
				end = now.Add(time.Hour)
			}
			if err == nil {
				err = e.Advance(end)
			}
			if err == nil && anew {
				err = e.Configure(nodes[:1], nil, nil, end)
			}
			if err != nil {
				t.Fatal(err)
			}
			picture := e.State()
			for e.Step() {
			}
			if slices.Sort(started[1:]); strings.Join(started[1:], " ") != want || len(e.State().Jobs) != 1 {
				t.Errorf("x %s, set up anew %v: %v start, want %s; there are %+v", how, anew, started, want, e.State().Jobs)
			}
			if want := "late " + map[string]string{well: "not refused: ", ill: "ok refused: "}[want] + "a job that it waits for has ended otherwise than it was to"; !strings.HasPrefix(outlook(t, picture), want) {
				t.Errorf("x %s, set up anew %v: %s, want %s", how, anew, outlook(t, picture), want)
			}
			if over := end.Add(time.Hour + time.Minute); !e.Now().Equal(over) {
				t.Errorf("x %s, set up anew %v: all is over at %v, want %v", how, anew, e.Now(), over)
			}
		}
	}
}

// outlook is what a forecast tells of the jobs that wait.
func outlook(t *testing.T, s batch.State) string {
	t.Helper()
	f := batch.Forecaster{Policy: batch.Policy{Name: "slurm"}}
	out, err := f.Forecast(s)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, j := range out.Jobs {
		list = append(list, j.ID)
	}
	for _, r := range out.Refused {
		list = append(list, fmt.Sprint(r.ID, " refused: ", r.Reason))
	}
	return strings.Join(list, " ")
}
