package batch_test

import (
	"testing"
	"time"

	"gridbroker/batch"
)

// TestSlurmAge: the age of a job that waits for another counts from when it need not any more,
// as 22.05 and 24.11 say (scontrol: AccrueTime=Unknown until then, and EligibleTime from then
// on), unless Slurm itself lets it grow older meanwhile. 9 came three hours ago and waits for
// r, which ends in an hour; 5 came an hour ago; 1 came now and may not begin before r ends. An
// hour is worth a thousand.
func TestSlurmAge(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	for name, v := range map[string]struct {
		eligible, always bool
		said             float64 // priority of 9, by Slurm
		want             string
	}{
		"from then on":             {want: "9 3h0m0s n1, 5 1h0m0s n1, 1 2h0m0s n1"},
		"of one that has a little": {said: 10, want: "9 2h0m0s n1, 5 1h0m0s n1, 1 3h0m0s n1"},
		"of one that has more":     {said: 2010, want: "9 1h0m0s n1, 5 2h0m0s n1, 1 3h0m0s n1"},
		"it grows older meanwhile": {eligible: true, want: "9 1h0m0s n1, 5 2h0m0s n1, 1 3h0m0s n1"},
		"ACCRUE_ALWAYS":            {always: true, want: "9 1h0m0s n1, 5 2h0m0s n1, 1 3h0m0s n1"},
	} {
		job := func(id string, ago time.Duration) batch.Job {
			return batch.Job{ID: id, Procs: 4, Requested: time.Hour, Submitted: now.Add(-ago)}
		}
		r, jobs := job("r", 0), []batch.Job{job("9", 3*time.Hour), job("5", time.Hour), job("1", 0)}
		r.Started, r.Placed = now, []batch.Placement{{Node: "n1", Procs: 4}}
		jobs[0].After, jobs[0].Eligible, jobs[0].Priority = []batch.Dependency{{ID: "r", On: batch.OnEnd}}, v.eligible, v.said
		jobs[2].Begin = now.Add(time.Hour)
		f := batch.Forecaster{Policy: batch.Policy{Name: "slurm", Slurm: batch.Slurm{Multifactor: batch.Multifactor{Age: 168_000, AccrueAlways: v.always}}}}
		out, err := f.Forecast(batch.State{Now: now, Nodes: []batch.Node{{Name: "n1", CPUs: 4, Up: true}}, Jobs: append([]batch.Job{r}, jobs...)})
		if err != nil {
			t.Fatal(err)
		}
		if got := story(now, jobs, out); got != v.want {
			t.Errorf("%s: got %s, want %s", name, got, v.want)
		}
	}
}

// TestSlurmAgeIsWorkedOut: priorities are worked out by a pass that comes 300 s after they were last,
// and not before. 1 is as old as counts, 2 overtakes it after a few seconds; the node that both want
// is free 310 s from now.
func TestSlurmAgeIsWorkedOut(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	for interval, want := range map[time.Duration]string{
		300 * time.Second: "1 1h5m10s n1, 2 5m10s n1",
		299 * time.Second: "1 5m10s n1, 2 1h5m10s n1",
	} {
		runs := func(id, node string, procs int, seconds int) batch.Job {
			return batch.Job{ID: id, Procs: procs, Submitted: now, Started: now, Requested: time.Duration(seconds) * time.Second, Placed: []batch.Placement{{Node: node, Procs: procs}}}
		}
		jobs := []batch.Job{
			{ID: "1", Procs: 4, Requested: time.Hour, Submitted: now.Add(-8 * 24 * time.Hour), Priority: 1000},
			{ID: "2", Procs: 4, Requested: time.Hour, Submitted: now, Priority: 999},
		}
		s := batch.State{Now: now, Nodes: []batch.Node{{Name: "n1", CPUs: 4, Up: true}, {Name: "n2", CPUs: 1, Up: true}}, Jobs: append([]batch.Job{runs("a", "n1", 4, 310), runs("b", "n2", 1, 100)}, jobs...)}
		f := batch.Forecaster{Policy: batch.Policy{Name: "slurm", Slurm: batch.Slurm{Interval: interval, Multifactor: batch.Multifactor{Age: 168_000}}}}
		out, err := f.Forecast(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := story(now, jobs, out); got != want {
			t.Errorf("a pass each %s: got %s, want %s", interval, got, want)
		}
	}
}

// TestSlurmAgeFarAhead: priorities are worked out at each step behind the time for which passes are
// exact, too. 1 is as old as counts, 2 overtakes it in seven hours; the node that both want is free in ten,
// and passes are exact for four.
func TestSlurmAgeFarAhead(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	r := batch.Job{ID: "r", Procs: 4, Submitted: now, Started: now, Requested: 10 * time.Hour, Placed: []batch.Placement{{Node: "n1", Procs: 4}}}
	jobs := []batch.Job{
		{ID: "1", Procs: 4, Requested: time.Hour, Submitted: now.Add(-8 * 24 * time.Hour), Priority: 10_000},
		{ID: "2", Procs: 4, Requested: time.Hour, Submitted: now, Priority: 3000},
	}
	f := batch.Forecaster{Policy: batch.Policy{Name: "slurm", Slurm: batch.Slurm{Window: time.Hour, Multifactor: batch.Multifactor{Age: 168_000}}}}
	out, err := f.Forecast(batch.State{Now: now, Nodes: []batch.Node{{Name: "n1", CPUs: 4, Up: true}}, Jobs: append([]batch.Job{r}, jobs...)})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := story(now, jobs, out), "1 11h0m0s n1, 2 10h0m0s n1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
