package batch_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gridbroker/batch"
)

// TestReservations: two nodes of four processors, the second reserved from
// the second hour to the fifth. Jobs ask for four processors for two hours
// unless they say otherwise; nothing runs.
func TestReservations(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	job := func(id string, change func(*batch.Job)) batch.Job {
		j := batch.Job{ID: id, User: "eve", Procs: 4, Requested: 2 * time.Hour, Submitted: now}
		if change != nil {
			change(&j)
		}
		return j
	}
	named := func(j *batch.Job) { j.Reservation = "r" }
	whole := func(j *batch.Job) { j.Nodes = 1 }
	ada := func(j *batch.Job) { j.User = "ada" }
	for _, v := range []struct {
		name string
		res  batch.Reservation
		jobs []batch.Job
		want string // job start nodes
	}{
		{"nobody's", batch.Reservation{}, []batch.Job{job("1", nil), job("2", nil), job("3", nil)}, "1 0s a, 2 2h0m0s a, 3 4h0m0s a"},
		{"user's", batch.Reservation{Users: []string{"ada"}}, []batch.Job{job("1", nil), job("2", ada), job("3", nil)}, "1 0s a, 2 0s b, 3 2h0m0s a"},
		{"group's", batch.Reservation{Groups: []string{"g"}}, []batch.Job{job("1", nil), job("2", func(j *batch.Job) { j.Group = "g" })}, "1 0s a, 2 0s b"},
		{"account's", batch.Reservation{Accounts: []string{"g"}}, []batch.Job{job("1", nil), job("2", func(j *batch.Job) { j.Account = "g" })}, "1 0s a, 2 0s b"},
		{"queue's", batch.Reservation{Queues: []string{"q"}}, []batch.Job{job("1", nil), job("2", func(j *batch.Job) { j.Queue = "q" })}, "1 0s a, 2 0s b"},
		// who names it runs in it, not before it begins
		{"named", batch.Reservation{Users: []string{"eve"}, ByName: true}, []batch.Job{job("1", nil), job("2", named), job("3", nil)}, "1 0s a, 2 1h0m0s b, 3 2h0m0s a"},
		{"named, no lists", batch.Reservation{}, []batch.Job{job("1", named)}, "1 1h0m0s b"},
		{"named by one it does not admit", batch.Reservation{Users: []string{"ada"}}, []batch.Job{job("1", named)}, "1 refused: reservation r does not admit it"},
		{"of another name", batch.Reservation{}, []batch.Job{job("1", func(j *batch.Job) { j.Reservation = "x" })}, "1 refused: there is no reservation x"},
		{"too short", batch.Reservation{}, []batch.Job{job("1", func(j *batch.Job) { named(j); j.Requested = 5 * time.Hour })}, "1 refused: wall time 5h0m0s, reservation r has 4h0m0s left"},
		// before it begins, and beside it
		{"flex", batch.Reservation{Users: []string{"eve"}, ByName: true, Flex: true}, []batch.Job{job("1", nil), job("2", named), job("3", named)}, "1 0s a, 2 0s b, 3 2h0m0s a"},
		{"flex, too long for it", batch.Reservation{ByName: true, Flex: true}, []batch.Job{job("1", func(j *batch.Job) { named(j); j.Requested = 5 * time.Hour })}, "1 0s a"},
		// two of its own need one after the other
		{"filled", batch.Reservation{Users: []string{"eve"}, ByName: true}, []batch.Job{job("1", named), job("2", named)}, "1 1h0m0s b, 2 3h0m0s b"},
		// the second would not be done in time: it holds nobody up
		{"full", batch.Reservation{}, []batch.Job{
			job("1", func(j *batch.Job) { named(j); j.Requested = 3 * time.Hour }), job("2", func(j *batch.Job) { named(j); j.Requested = 3 * time.Hour }), job("3", nil),
		}, "1 1h0m0s b, 2 refused: reservation r has no room for it before it ends, 3 0s a"},
		// half of the node left over inside is not for others
		{"half used", batch.Reservation{}, []batch.Job{
			job("1", nil), job("2", func(j *batch.Job) { named(j); j.Procs = 2 }), job("3", func(j *batch.Job) { j.Procs = 2 }),
		}, "1 0s a, 2 1h0m0s b, 3 2h0m0s a"},
		{"of two processors", batch.Reservation{Each: 2}, []batch.Job{
			job("1", whole), job("2", func(j *batch.Job) { j.Procs = 2 }), job("3", whole), job("4", func(j *batch.Job) { named(j); j.Procs = 2 }),
		}, "1 0s a, 2 0s b, 3 2h0m0s a, 4 1h0m0s b"},
	} {
		for _, policy := range []string{"fcfs", "easy", "conservative"} {
			t.Run(v.name+"/"+policy, func(t *testing.T) {
				v.res.Name, v.res.Nodes = "r", []string{"b"}
				v.res.Start, v.res.End = now.Add(time.Hour), now.Add(5*time.Hour)
				f := batch.Forecaster{Policy: batch.Policy{Name: policy}}
				out, err := f.Forecast(batch.State{
					Now: now, Nodes: []batch.Node{{Name: "a", CPUs: 4, Up: true}, {Name: "b", CPUs: 4, Up: true}},
					Queues: []batch.Queue{{Name: "q"}}, Jobs: v.jobs, Reservations: []batch.Reservation{v.res},
				})
				if err != nil {
					t.Fatal(err)
				}
				if got := story(now, v.jobs, out); got != v.want {
					t.Errorf("got  %s\nwant %s", got, v.want)
				}
			})
		}
	}
}

// story says in the order of the jobs when and where each starts.
func story(now time.Time, jobs []batch.Job, f *batch.Forecast) string {
	said := map[string]string{}
	for _, r := range f.Refused {
		said[r.ID] = "refused: " + r.Reason
	}
	for _, e := range f.Jobs {
		said[e.ID] = e.Start.Sub(now).String()
		for _, p := range e.Placed {
			said[e.ID] += " " + p.Node
		}
	}
	var list []string
	for _, j := range jobs {
		list = append(list, fmt.Sprint(j.ID, " ", said[j.ID]))
	}
	return strings.Join(list, ", ")
}

// TestReservedRunning: what runs inside a reservation is not counted twice,
// and others do not get what its jobs leave.
func TestReservedRunning(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	s := batch.State{
		Now: now, Nodes: []batch.Node{{Name: "a", CPUs: 4, Up: true}},
		Reservations: []batch.Reservation{{Name: "r", Nodes: []string{"a"}, Users: []string{"ada"}, Start: now.Add(-time.Hour), End: now.Add(3 * time.Hour)}},
		Jobs: []batch.Job{
			{ID: "1", User: "ada", Procs: 2, Requested: 2 * time.Hour, Started: now.Add(-time.Hour), Placed: []batch.Placement{{Node: "a", Procs: 2}}},
			{ID: "2", User: "eve", Procs: 1, Requested: time.Hour, Submitted: now},
			{ID: "3", User: "ada", Procs: 2, Requested: time.Hour, Submitted: now},
			{ID: "4", User: "ada", Procs: 4, Requested: 3 * time.Hour, Submitted: now},
		},
	}
	f := batch.Forecaster{Policy: batch.Policy{Name: "easy"}}
	out, err := f.Forecast(s)
	if err != nil {
		t.Fatal(err)
	}
	// 2 is first in the queue and holds the first hour after r; 4 must not
	// reach into it
	if got, want := story(now, s.Jobs[1:], out), "2 3h0m0s a, 3 0s a, 4 4h0m0s a"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
