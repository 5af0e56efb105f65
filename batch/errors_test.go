package batch_test

import (
	"fmt"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/testdata/testbed"
)

// TestErrors learns the errors of forecasts as a replay goes on; the interval
// between two quantiles must then hold about as many starts as it says.
func TestErrors(t *testing.T) {
	testbed.Computes(t)
	m, err := batch.NewMachine(64, batch.Policy{Name: "easy"})
	if err != nil {
		t.Fatal(err)
	}
	var e batch.Errors
	if _, ok := e.Quantile(100, 0.5); ok {
		t.Error("a quantile of nothing")
	}
	in, all := 0, 0
	for s, err := range m.Foretell(generated(8000, 64, 0.9), batch.NewHistory()) {
		if err != nil {
			t.Fatal(err)
		}
		foretold, wait := s.Foretold-s.Submit, s.Start-s.Submit
		low, ok := e.Quantile(foretold, 0.1)
		high, _ := e.Quantile(foretold, 0.9)
		if ok && foretold > 0 {
			if all++; foretold+low <= wait && wait <= foretold+high {
				in++
			}
		}
		e.Learn(foretold, wait)
	}
	if part := float64(in) / float64(all); all < 1000 || part < 0.7 || part > 0.9 {
		t.Errorf("%.2f of %d waits lie between the 0.1 and the 0.9 quantile", part, all)
	}
}

// TestLiveLearns sees that a Live teaches errors and beliefs.
func TestLiveLearns(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	f := batch.Forecaster{Policy: batch.Policy{Name: "fcfs"}, Belief: batch.NewLastTwo(), Errors: &batch.Errors{}}
	live, err := f.Live(batch.State{Now: now, Nodes: []batch.Node{{Name: "n", CPUs: 1, Up: true}}})
	if err != nil {
		t.Fatal(err)
	}
	submit := func(id string) {
		if err := live.Submit(batch.Job{ID: id, User: "u", Procs: 1, Requested: time.Hour, Submitted: now}); err != nil {
			t.Fatal(err)
		}
	}
	start := func(id string) {
		if err := live.Start(id, now, nil); err != nil {
			t.Fatal(err)
		}
	}
	submit("0")
	start("0")
	for i := range 25 { // each is foretold to wait an hour, or what was learned
		submit(fmt.Sprint(i + 1))
		live.Starts(0)
		now = now.Add(10 * time.Minute)
		if err := live.End(fmt.Sprint(i), now); err != nil {
			t.Fatal(err)
		}
		start(fmt.Sprint(i + 1))
	}
	submit("last")
	got := live.Starts(0)
	if len(got) != 1 || got[0].Start.Sub(now) != 10*time.Minute {
		t.Fatalf("expected %+v", got)
	}
	if low := got[0].Low; !low.Equal(got[0].Start) {
		t.Errorf("bounds %s to %s of a start always foretold right", low, got[0].High)
	}
	if err := live.End("nobody", now); err == nil || err.Error() != "job nobody is not known" {
		t.Errorf("error %v", err)
	}
}

func ExampleForecaster() {
	now := time.Unix(1_700_000_000, 0).UTC()
	state := batch.State{
		Now:   now,
		Nodes: []batch.Node{{Name: "n1", CPUs: 4, Up: true}},
		Jobs: []batch.Job{
			{ID: "7", User: "ada", Procs: 4, Requested: 2 * time.Hour, Started: now.Add(-time.Hour)},
			{ID: "8", User: "bob", Procs: 2, Requested: time.Hour, Submitted: now.Add(-time.Minute)},
		},
	}
	f := batch.Forecaster{Policy: batch.Policy{Name: "easy"}, Belief: batch.NewHistory()}
	out, err := f.Forecast(state)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range out.Jobs {
		fmt.Println("job", e.ID, "starts in", e.Start.Sub(now))
	}
	at := out.Earliest([]batch.Size{{Procs: 2, Duration: time.Hour}, {Procs: 4, Duration: time.Hour}})
	fmt.Println("2 processors in", at[0].Sub(now), "and 4 in", at[1].Sub(now))
	// Output:
	// job 8 starts in 1h0m0s
	// 2 processors in 1h0m0s and 4 in 2h0m0s
}
