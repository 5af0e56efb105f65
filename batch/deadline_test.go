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
