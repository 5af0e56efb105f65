package batch_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"gridbroker/batch"
)

// With a place for the first job of the partition alone, a third starts where
// it delays the second.
func TestSlurmPartCountReserve(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	job := func(id string, procs, minutes int) batch.Job {
		return batch.Job{ID: id, Procs: procs, Requested: time.Duration(minutes) * time.Minute, Submitted: now}
	}
	runs := func(id, node string, hours int) batch.Job {
		return batch.Job{ID: id, Procs: 4, Requested: time.Duration(hours) * time.Hour, Submitted: now, Started: now, Placed: []batch.Placement{{Node: node, Procs: 4}}}
	}
	jobs := []batch.Job{job("1", 8, 30), job("2", 10, 30), job("3", 1, 180)}
	s := batch.State{Now: now, Nodes: []batch.Node{{Name: "n1", CPUs: 4, Up: true}, {Name: "n2", CPUs: 4, Up: true}, {Name: "n3", CPUs: 2, Up: true}},
		Jobs: append([]batch.Job{runs("a", "n1", 1), runs("b", "n2", 2)}, jobs...)}
	for count, want := range map[int]string{
		0: "1 2h0m0s n1 n2, 2 2h30m0s n1 n2 n3, 3 3h0m0s n3", 1: "1 2h0m0s n1 n2, 2 3h0m0s n1 n2 n3, 3 0s n3",
	} {
		f := batch.Forecaster{Policy: batch.Policy{Name: "slurm", Slurm: batch.Slurm{PartCountReserve: count}}}
		out, err := f.Forecast(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := story(now, jobs, out); got != want {
			t.Errorf("bf_job_part_count_reserve=%d: got %s, want %s", count, got, want)
		}
	}
}

// SchedulerParameters as slurm.conf(5) has them: what is modelled is set, what
// decides nothing is passed over, all else is named.
func TestSlurmSchedulerParameters(t *testing.T) {
	var p batch.Slurm
	left := p.Parameters("bf_interval=3,bf_continue,bf_window=20160,bf_max_job_user=7,defer,bf_min_prio_reserve=9,preempt_strict_order,sched_interval=5,bf_resolution=x,bf_node_space_size=900,bf_window_linear=60,wonder=1,batch_sched_delay=1")
	if p.Interval != 3*time.Second || p.Window != 14*24*time.Hour || p.MaxJobUser != 7 || p.MinPrioReserve != 9 || p.NodeSpace != 900 || p.WindowLinear != time.Minute {
		t.Errorf("%+v", p)
	}
	if want := []string{"bf_resolution=x", "defer", "preempt_strict_order", "wonder=1"}; !slices.Equal(left, want) {
		t.Errorf("not modelled: %q, want %q", left, want)
	}
	if left := p.Parameters("(null)"); len(left) > 0 {
		t.Errorf("of nothing: %q", left)
	}
	var least batch.Slurm
	if left := least.Parameters("bf_max_job_test=7,bf_node_space_size=1"); len(left) > 0 || least.Defaults().NodeSpace != 7 {
		t.Errorf("a table of one record is none: %q, %+v", left, least)
	}
	if err := p.Set("bf_window", "-1"); fmt.Sprint(err) != "bf_window=-1: want KEY=VALUE with a number, 0 or more" {
		t.Error(err)
	}
}

// Slurm starts a job in its reservation however little of that is left, and ends
// it with the reservation; a job in a flexible one keeps its limit.
func TestSlurmReservationCuts(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	for flex, want := range map[bool]string{false: "1 0s-1h0m0s n1, 2 1h0m0s-4h0m0s n1", true: "1 0s-3h0m0s n1, 2 3h0m0s-6h0m0s n1"} {
		s := batch.State{Now: now, Nodes: []batch.Node{{Name: "n1", CPUs: 4, Up: true}},
			Reservations: []batch.Reservation{{Name: "r", Start: now.Add(-time.Hour), End: now.Add(time.Hour), Nodes: []string{"n1"}, ByName: true, Flex: flex}},
			Jobs: []batch.Job{
				{ID: "1", Procs: 4, Requested: 3 * time.Hour, Submitted: now, Reservation: "r"},
				{ID: "2", Procs: 4, Requested: 3 * time.Hour, Submitted: now},
			}}
		f := batch.Forecaster{Policy: batch.Policy{Name: "slurm"}}
		out, err := f.Forecast(s)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for i, e := range out.Jobs {
			if i > 0 {
				got += ", "
			}
			got += fmt.Sprint(e.ID, " ", e.Start.Sub(now), "-", e.End.Sub(now), " ", e.Placed[0].Node)
		}
		if got != want {
			t.Errorf("flex %v: got %s, want %s", flex, got, want)
		}
	}
}

// TestSlurmReservationLate: a job begins in its reservation as long as that is not over, not only
// at once, and is planned with its whole limit; it ends with the reservation. Slurm 22.05 and
// 24.11 planned the second of these for the end of the first and the third behind ten minutes
// more (-t 1, -t 10 and -t 2 on one node, the first two in a reservation of four minutes), ended
// the second with TIMEOUT when the reservation was over, and began the third then.
func TestSlurmReservationLate(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	jobs := []batch.Job{
		{ID: "1", Procs: 4, Requested: time.Minute, Submitted: now, Reservation: "r"},
		{ID: "2", Procs: 4, Requested: 10 * time.Minute, Submitted: now, Reservation: "r"},
		{ID: "3", Procs: 4, Requested: 2 * time.Minute, Submitted: now},
	}
	s := batch.State{Now: now, Nodes: []batch.Node{{Name: "n1", CPUs: 4, Up: true}}, Jobs: jobs,
		Reservations: []batch.Reservation{{Name: "r", Start: now, End: now.Add(4 * time.Minute), Nodes: []string{"n1"}, ByName: true}}}
	p := batch.Policy{Name: "slurm"}
	f := batch.Forecaster{Policy: p}
	out, err := f.Forecast(s)
	if err != nil {
		t.Fatal(err)
	}
	if got := story(now, jobs, out); got != "1 0s n1, 2 1m0s n1, 3 4m0s n1" || len(out.Jobs) == 3 && out.Jobs[1].End.Sub(now) != 4*time.Minute {
		t.Errorf("%s: %+v", got, out.Jobs)
	}
	want := []string{"0 started 1", "60 timed out 1", "60 started 2", "240 timed out 2", "240 started 3", "360 timed out 3"}
	if got := storyOf(t, s, p); !slices.Equal(got, want) {
		t.Errorf("on an engine: %q, want %q", got, want)
	}
}

// Slurm parts the processors of a job over the nodes that it asks for as they are
// free, and no job has more nodes than its partition allows.
func TestSlurmNodes(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	for name, c := range map[string]struct {
		job  batch.Job
		most int
		want string
	}{
		"four and one":           {batch.Job{Procs: 5, Nodes: 2}, 0, "0s n1 n2"},
		"not more than are free": {batch.Job{Procs: 6, Nodes: 2}, 0, "1h0m0s n1 n2"},
		"three of one":           {batch.Job{Procs: 6}, 0, "0s n1 n2 n3"},
		"two at most":            {batch.Job{Procs: 6}, 2, "1h0m0s n1 n2"},
		"the first of a run":     {batch.Job{Procs: 2, Nodes: 2}, 0, "0s n1 n2"},
	} {
		c.job.ID, c.job.Queue, c.job.Requested, c.job.Submitted = "1", "p", time.Hour, now
		run := func(id, node string, procs int) batch.Job {
			return batch.Job{ID: id, Queue: "p", Procs: procs, Requested: time.Hour, Started: now, Placed: []batch.Placement{{Node: node, Procs: procs}}}
		}
		s := batch.State{Now: now, Queues: []batch.Queue{{Name: "p", MaxNodes: c.most}}, Jobs: []batch.Job{run("a", "n2", 3), run("b", "n3", 3), c.job},
			Nodes: []batch.Node{{Name: "n1", CPUs: 4, Up: true}, {Name: "n2", CPUs: 4, Up: true}, {Name: "n3", CPUs: 4, Up: true}}}
		f := batch.Forecaster{Policy: batch.Policy{Name: "slurm"}}
		out, err := f.Forecast(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := story(now, []batch.Job{c.job}, out); got != "1 "+c.want {
			t.Errorf("%s: got %s, want 1 %s", name, got, c.want)
		}
	}
}

// bf_max_job_part counts by partition, also where two are served by the same nodes.
func TestSlurmMaxJobPart(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	s := batch.State{Now: now, Nodes: []batch.Node{{Name: "n1", CPUs: 4, Up: true, Queues: []string{"p", "q"}}}, Queues: []batch.Queue{{Name: "p"}, {Name: "q"}}}
	s.Jobs = []batch.Job{{ID: "r", Queue: "p", Procs: 2, Requested: time.Hour, Started: now, Placed: []batch.Placement{{Node: "n1", Procs: 2}}}}
	for i, queue := range []string{"p", "p", "q", "q"} {
		j := batch.Job{ID: fmt.Sprint(i + 1), Queue: queue, Procs: 1, Requested: time.Minute, Submitted: now.Add(-time.Minute)}
		if i == 0 {
			j.Procs = 4 // does not fit
		}
		s.Jobs = append(s.Jobs, j)
	}
	f := batch.Forecaster{Policy: batch.Policy{Name: "slurm", Slurm: batch.Slurm{MaxJobPart: 1}}}
	out, err := f.Forecast(s)
	if err != nil {
		t.Fatal(err)
	}
	if got := story(now, s.Jobs[1:], out); got != "1 1h0m0s n1, 2 1h1m0s n1, 3 0s n1, 4 1m1s n1" {
		t.Errorf("%s", got)
	}
}

// Slurm takes the run of neighbouring nodes that is the least to hold a job, in it the
// single node that is the least to hold it or else the nodes in their order, and
// leaves out those with the least room where so many nodes as it may have do not do.
func TestSlurmRuns(t *testing.T) {
	for _, c := range []struct {
		name string
		free []int // of eight processors, node by node
		job  batch.Job
		most int
		want string
	}{
		{"the node with the least room", []int{8, 3, 2, 4}, batch.Job{Procs: 3}, 0, "[{n2 3}]"},
		{"of the run with the least room", []int{8, 0, 4, 3, 0, 5}, batch.Job{Procs: 3}, 0, "[{n6 3}]"},
		{"nodes in order", []int{2, 4, 3}, batch.Job{Procs: 6, Nodes: 2}, 0, "[{n1 2} {n2 4}]"},
		{"one for each of the others", []int{8, 8, 8}, batch.Job{Procs: 5, Nodes: 3}, 0, "[{n1 3} {n2 1} {n3 1}]"},
		{"a run that holds it before one that begins earlier", []int{4, 0, 3, 3}, batch.Job{Procs: 6}, 0, "[{n3 3} {n4 3}]"},
		{"the greatest runs first where none does", []int{2, 0, 3, 0, 4}, batch.Job{Procs: 8}, 0, "[{n5 4} {n3 3} {n1 1}]"},
		{"without the least where few nodes are allowed", []int{2, 1, 3}, batch.Job{Procs: 5}, 2, "[{n3 3} {n1 2}]"},
		{"and those with the most room at last", []int{5, 5, 6}, batch.Job{Procs: 11, Nodes: 2}, 0, "[{n3 6} {n1 5}]"},
	} {
		placed(t, c.name, batch.Queue{Name: "p", MaxNodes: c.most}, c.free, nil, c.job, c.want)
	}
}

// Nodes of less weight come first, whatever is free on the others, and those of one weight as without weights: as a
// Slurm 22.05 placed jobs on four nodes.
func TestSlurmNodeWeights(t *testing.T) {
	for _, c := range []struct {
		name    string
		free    []int // of eight processors, node by node
		weights []int
		job     batch.Job
		want    string
	}{
		{"not the first", []int{8, 8, 8, 8}, []int{100, 1, 1, 1}, batch.Job{Procs: 4, Nodes: 1}, "[{n2 4}]"},
		{"rather an idle one than a heavy one in use", []int{4, 8, 8, 8}, []int{100, 1, 1, 1}, batch.Job{Procs: 4, Nodes: 1}, "[{n2 4}]"},
		{"light ones apart", []int{8, 8, 8, 8}, []int{1, 100, 50, 1}, batch.Job{Procs: 12}, "[{n1 8} {n4 4}]"},
		{"the next where the light ones have no room", []int{0, 8, 8, 4}, []int{1, 100, 50, 1}, batch.Job{Procs: 6, Nodes: 1}, "[{n3 6}]"},
		{"one of each", []int{0, 8, 8, 8}, []int{1, 100, 50, 1}, batch.Job{Procs: 6, Nodes: 2}, "[{n4 5} {n3 1}]"},
		{"least room among alike", []int{8, 3, 8, 4}, []int{1, 1, 1, 1}, batch.Job{Procs: 3, Nodes: 1}, "[{n2 3}]"},
	} {
		placed(t, c.name, batch.Queue{Name: "p"}, c.free, c.weights, c.job, c.want)
	}
}

// placed holds that the policy slurm starts a job at once, and where, on nodes of eight processors of which so many are free.
func placed(t *testing.T, name string, queue batch.Queue, free, weights []int, job batch.Job, want string) {
	t.Helper()
	now := time.Unix(1_700_000_000, 0).UTC()
	s := batch.State{Now: now, Queues: []batch.Queue{queue}}
	for i, free := range free {
		n := batch.Node{Name: fmt.Sprint("n", i+1), CPUs: 8, Up: true}
		if weights != nil {
			n.Weight = weights[i]
		}
		s.Nodes = append(s.Nodes, n)
		if free < 8 {
			s.Jobs = append(s.Jobs, batch.Job{ID: "r" + n.Name, Queue: queue.Name, Procs: 8 - free, Requested: time.Hour, Started: now, Placed: []batch.Placement{{Node: n.Name, Procs: 8 - free}}})
		}
	}
	job.ID, job.Queue, job.Requested, job.Submitted = "1", queue.Name, time.Hour, now
	s.Jobs = append(s.Jobs, job)
	f := batch.Forecaster{Policy: batch.Policy{Name: "slurm"}}
	out, err := f.Forecast(s)
	if err != nil || len(out.Jobs) != 1 {
		t.Fatal(name, err)
	}
	if got := fmt.Sprint(out.Jobs[0].Placed); got != want || !out.Jobs[0].Start.Equal(now) {
		t.Errorf("%s: %s at %v, want %s", name, got, out.Jobs[0].Start.Sub(now), want)
	}
}

// Backfill sees what has happened a second later: of two ends in turn the job at the
// head gets what both leave.
func TestSlurmBackfillLater(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	run := func(id, node string, procs int, left time.Duration) batch.Job {
		return batch.Job{ID: id, Procs: procs, Requested: left, Started: now, Placed: []batch.Placement{{Node: node, Procs: procs}}}
	}
	wait := func(id string, procs int, limit time.Duration) batch.Job {
		return batch.Job{ID: id, Procs: procs, Requested: limit, Submitted: now.Add(-time.Minute)}
	}
	s := batch.State{Now: now, Nodes: []batch.Node{{Name: "n1", CPUs: 4, Up: true}}, Jobs: []batch.Job{
		run("a", "n1", 2, 1000*time.Second), run("b", "n1", 2, 1001*time.Second), wait("1", 4, time.Minute), wait("2", 2, 5*time.Minute),
	}}
	f := batch.Forecaster{Policy: batch.Policy{Name: "slurm"}, Belief: early{}}
	out, err := f.Forecast(s)
	if err != nil {
		t.Fatal(err)
	}
	if got := story(now, s.Jobs[2:], out); got != "1 8m21s n1, 2 9m21s n1" {
		t.Errorf("%s", got)
	}
}

// early believes that jobs that run take half of their limit, and a bit.
type early struct{}

// Run implements batch.Belief.
func (early) Run(t *batch.Task, elapsed int64) int64 {
	if t.Limit >= 1000 && t.Limit <= 1001 {
		return t.Limit - 500
	}
	return max(t.Limit, elapsed+1)
}

// Learn implements batch.Belief.
func (early) Learn(*batch.Task) {}

// A job that waited for one that ends is before the policy when that ends: it goes
// ahead of those of greater number.
func TestSlurmDependentFirst(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	jobs := []batch.Job{
		{ID: "2", Procs: 4, Requested: time.Hour, Submitted: now, After: []batch.Dependency{{ID: "1", On: batch.OnEnd}}},
		{ID: "3", Procs: 4, Requested: time.Hour, Submitted: now},
	}
	s := batch.State{Now: now, Nodes: []batch.Node{{Name: "n1", CPUs: 4, Up: true}},
		Jobs: append([]batch.Job{{ID: "1", Procs: 4, Requested: time.Hour, Started: now, Placed: []batch.Placement{{Node: "n1", Procs: 4}}}}, jobs...)}
	f := batch.Forecaster{Policy: batch.Policy{Name: "slurm"}}
	out, err := f.Forecast(s)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := story(now, jobs, out), "2 1h0m0s n1, 3 2h0m0s n1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
