package batch_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gridbroker/batch"
)

// TestDeadlines: a job that could not be done by its deadline does not start, is told so, and
// holds up nobody; under slurm the least limit that will do counts.
func TestDeadlines(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	job := func(id string, minutes, least, deadline int) batch.Job {
		j := batch.Job{ID: id, Procs: 4, Requested: time.Duration(minutes) * time.Minute, Least: time.Duration(least) * time.Minute, Submitted: now.Add(-time.Hour)}
		if deadline > 0 {
			j.Deadline = now.Add(time.Duration(deadline) * time.Minute)
		}
		return j
	}
	busy := job("r", 60, 0, 0)
	busy.Started, busy.Placed = now, []batch.Placement{{Node: "n1", Procs: 3}}
	jobs := []batch.Job{job("1", 40, 0, 90), job("2", 40, 0, 100), job("3", 30, 0, 0), job("4", 40, 5, 136), job("5", 40, 0, 30), job("6", 40, 0, 200)}
	busy.Procs, jobs[4].Procs = 3, 1 // it would fit now
	jobs[5].Begin = now.Add(3 * time.Hour)
	for policy, want := range map[string]string{
		"slurm": "2 1h0m0s, 3 1h40m0s, 4 2h10m0s", "easy": "2 1h0m0s, 3 1h40m0s", "fcfs": "2 1h0m0s, 3 1h40m0s",
		"conservative": "2 1h0m0s, 3 1h40m0s", "maui": "2 1h0m0s, 3 1h40m0s",
	} {
		s := batch.State{Now: now, Nodes: []batch.Node{{Name: "n1", CPUs: 4, Up: true}, {Name: "n2", Up: true}}, Jobs: append([]batch.Job{busy}, jobs...)}
		f := batch.Forecaster{Policy: batch.Policy{Name: policy}}
		out, err := f.Forecast(s)
		if err != nil {
			t.Fatal(err)
		}
		var starts []string
		for _, e := range out.Jobs {
			starts = append(starts, fmt.Sprint(e.ID, " ", e.Start.Sub(now)))
		}
		if got := strings.Join(starts, ", "); got != want {
			t.Errorf("%s: got %s, want %s", policy, got, want)
		}
		for _, r := range out.Refused {
			if r.Cause != batch.NoRoom || r.Reason != "it does not start early enough to be done by its deadline" {
				t.Errorf("%s: %+v", policy, r)
			}
		}
		accounted(t, policy, s, out.Jobs, out.Refused)
	}
}

// TestDeadlineAtAnEnd: what ends in the second in which a deadline has come too near starts
// nothing that would not be done by it.
func TestDeadlineAtAnEnd(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	for _, policy := range []string{"slurm", "easy", "fcfs", "conservative", "maui"} {
		for left, starts := range map[time.Duration]int{time.Hour: 1, time.Hour - time.Second: 0} {
			s := batch.State{Now: now, Nodes: []batch.Node{{Name: "n1", CPUs: 4, Up: true}}, Jobs: []batch.Job{
				{ID: "r", Procs: 4, Requested: time.Hour, Started: now, Placed: []batch.Placement{{Node: "n1", Procs: 4}}},
				{ID: "1", Procs: 4, Requested: time.Hour, Submitted: now, Deadline: now.Add(time.Hour + left)},
			}}
			f := batch.Forecaster{Policy: batch.Policy{Name: policy}}
			out, err := f.Forecast(s)
			if err != nil || len(out.Jobs) != starts {
				t.Errorf("%s, %v from the end of r to the deadline: starts %+v, %v", policy, left, out.Jobs, err)
			}
		}
	}
}

// TestDeadlineFrees: a job whose deadline has come too near is cancelled, and who waits for its
// end or its start no longer does; who waits for its success does for ever (22.05 and 24.11:
// two seconds later the first had begun, and the second had DependencyNeverSatisfied).
func TestDeadlineFrees(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	job := func(id string, procs int, on batch.Trigger) batch.Job {
		return batch.Job{ID: id, Procs: procs, Requested: time.Minute, Submitted: now, After: []batch.Dependency{{ID: "1", On: on}}}
	}
	for left, want := range map[time.Duration]string{
		90 * time.Second: "1 refused: it does not start early enough to be done by its deadline, 2 31s n1, 3 31s n1, 4 refused: a job that it waits for does not start",
		0:                "1 refused: it does not start early enough to be done by its deadline, 2 0s n1, 3 0s n1, 4 refused: a job that it waits for does not start",
	} {
		jobs := []batch.Job{job("1", 4, ""), job("2", 1, batch.OnEnd), job("3", 1, batch.OnStart), job("4", 1, batch.OnSuccess)}
		jobs[0].After, jobs[0].Deadline = nil, now.Add(left)
		s := batch.State{Now: now, Nodes: []batch.Node{{Name: "n1", CPUs: 4, Up: true}}, Jobs: append(jobs, batch.Job{
			ID: "r", Procs: 2, Requested: 2 * time.Minute, Started: now, Placed: []batch.Placement{{Node: "n1", Procs: 2}},
		})}
		f := batch.Forecaster{Policy: batch.Policy{Name: "slurm"}}
		out, err := f.Forecast(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := story(now, jobs, out); got != want {
			t.Errorf("%v left: got %s, want %s", left, got, want)
		}
	}
}

// TestDeadlineLeast: with a least limit and a deadline Slurm's main loop gives a job as many
// minutes as the deadline leaves (22.05 and 24.11: -t 10 --time-min=2 --deadline=now+300 had
// TimeLimit=00:04:00 when it began two seconds later).
func TestDeadlineLeast(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	for left, want := range map[time.Duration]time.Duration{298 * time.Second: 4 * time.Minute, 2 * time.Minute: 2 * time.Minute, time.Hour: 10 * time.Minute, 0: 10 * time.Minute} {
		j := batch.Job{ID: "1", Procs: 1, Requested: 10 * time.Minute, Least: 2 * time.Minute, Submitted: now}
		if left > 0 {
			j.Deadline = now.Add(left)
		}
		f := batch.Forecaster{Policy: batch.Policy{Name: "slurm"}}
		out, err := f.Forecast(batch.State{Now: now, Nodes: []batch.Node{{Name: "n1", CPUs: 4, Up: true}}, Jobs: []batch.Job{j}})
		if err != nil || len(out.Jobs) != 1 || out.Jobs[0].End.Sub(now) != want {
			t.Errorf("%v left: %+v, %v; want %v", left, out.Jobs, err, want)
		}
	}
}

// TestDeadlineAhead: who waits for a job whose reservation is over, but not its deadline, goes on
// waiting: nobody has cancelled it.
func TestDeadlineAhead(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	jobs := []batch.Job{
		{ID: "1", Procs: 4, Requested: time.Minute, Submitted: now, Reservation: "r", Deadline: now.Add(24 * time.Hour)},
		{ID: "2", Procs: 1, Requested: time.Minute, Submitted: now, After: []batch.Dependency{{ID: "1", On: batch.OnEnd}}},
	}
	s := batch.State{Now: now, Nodes: []batch.Node{{Name: "n1", CPUs: 4, Up: true}}, Jobs: append([]batch.Job{
		{ID: "r", Procs: 2, Requested: time.Hour, Started: now, Placed: []batch.Placement{{Node: "n1", Procs: 2}}},
	}, jobs...), Reservations: []batch.Reservation{{Name: "r", Start: now, End: now.Add(time.Minute), Nodes: []string{"n1"}, ByName: true}}}
	f := batch.Forecaster{Policy: batch.Policy{Name: "slurm"}}
	out, err := f.Forecast(s)
	if err != nil {
		t.Fatal(err)
	}
	if got := story(now, jobs, out); got != "1 refused: reservation r has no room for it before it ends, 2 refused: a job that it waits for does not start" {
		t.Error(got)
	}
}
