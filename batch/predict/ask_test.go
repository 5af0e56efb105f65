package predict

import (
	"fmt"
	"testing"
	"time"

	"gridbroker/batch"
)

// Members for which there is no time are stood in for by those that were run; what
// was worked out whole is not worked out again.
func TestAskWithinABudget(t *testing.T) {
	s := batch.State{Now: time.Unix(1_700_000_000, 0).UTC(), Nodes: []batch.Node{{Name: "n", CPUs: 4, Up: true}}}
	f := batch.Forecaster{Policy: batch.Policy{Name: "easy"}, Beside: batch.NewSimilar()}
	for i := range 40 {
		j := batch.Job{ID: fmt.Sprint(i), User: "u", Procs: 2, Requested: time.Hour, Submitted: s.Now.Add(-time.Hour)}
		f.Learn(j, time.Duration(1+i)*time.Minute)
		if i < 2 {
			j.Started, j.Placed = s.Now.Add(-time.Minute), []batch.Placement{{Node: "n", Procs: 2}}
		}
		if i < 10 {
			s.Jobs = append(s.Jobs, j)
		}
	}
	out, err := f.Forecast(s)
	if err != nil {
		t.Fatal(err)
	}
	j, always := batch.Job{ID: "asked", User: "u", Procs: 4, Requested: time.Hour}, func() bool { return true }
	whole, why := out.AskAbout(Members, j, always)
	if why.Cause != "" || whole.Ran != members {
		t.Fatalf("%+v %+v", whole, why)
	}
	tracker := NewTracker()
	for ran := 1; ran < members; ran++ {
		left := ran
		got, why := tracker.ask(out, j, func() bool { left--; return left > 0 }, nil)
		if why.Cause != "" || len(got.Waits) != members {
			t.Fatalf("%d members: %+v %+v", ran, got, why)
		}
		for n, wait := range got.Waits {
			want := whole.Waits[min(n, ran-1)]
			if n >= ran && ran > firstDraw {
				want = whole.Waits[firstDraw+(n-ran)%(ran-firstDraw)]
			}
			if wait != want {
				t.Errorf("%d members, of which %d is %d s, want %d", ran, n, wait, want)
			}
		}
	}
	first, _ := tracker.Ask(out, j, always)
	again, _ := tracker.Ask(out, j, func() bool { t.Error("asked again, it is worked out again"); return false })
	if first.Quantile(0.9) != again.Quantile(0.9) {
		t.Error("the same question has another answer")
	}
	other, err := f.Forecast(s)
	if err != nil {
		t.Fatal(err)
	}
	looks := 0
	if tracker.Ask(other, j, func() bool { looks++; return true }); looks != members-1 {
		t.Errorf("of another forecast %d runs were made, want %d", looks+1, members)
	}
}
