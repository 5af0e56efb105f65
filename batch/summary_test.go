package batch_test

import (
	"math"
	"testing"

	"gridbroker/batch"
)

// TestSummary: waits of 0, 10, 20... and one of ten thousand years.
func TestSummary(t *testing.T) {
	const years = 10_000 * 365 * 86400
	s := batch.NewSummary(16)
	for i := range int64(10) {
		s.Add(batch.Start{Task: batch.Task{ID: i, Submit: 100, Run: 100, Procs: 1 + int(i)}, Start: 100 + 10*i})
	}
	if all := s.Total(); all.Jobs != 10 || all.MeanWait != 45 || all.MedianWait != 45 || math.Abs(all.P95Wait-85.5) > 1e-9 || all.MaxWait != 90 || all.MeanSlowdown != 1.45 {
		t.Errorf("%+v", all)
	}
	s.Add(batch.Start{Task: batch.Task{ID: 10, Submit: 100, Run: 1, Procs: 16}, Start: 100 + years})
	all, waits := s.Total(), s.Waits()
	if all.MaxWait != years || all.MedianWait != 50 || all.P95Wait != 90+0.5*(years-90) || waits[10] != years || waits[9] != 90 || len(waits) != 11 {
		t.Errorf("%+v %v", all, waits)
	}
	classes := s.Classes()
	if len(classes) != 3 || classes[0].Jobs != 1 || classes[1].Jobs != 6 || classes[2].Name != "8-16" || classes[2].Jobs != 4 || classes[2].MaxWait != years {
		t.Errorf("%+v", classes)
	}
}
