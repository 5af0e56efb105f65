package slurm

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"gridbroker/batch"
)

// TestSpread: a job that names a number of processors alone gets them on as many nodes as
// have some, one that asks for a number of nodes on those, and Slurm tells both alike; nodes
// of jobs that share them with their own user's alone are no other's; a partition that takes
// no more jobs starts those that wait, and one of several that is closed or too small leaves
// the others. Starts are seconds from the moment of the recording; those marked are where Slurm planned them.
func TestSpread(t *testing.T) {
	s := taped(t, "testdata/spread")
	want := map[string]struct {
		asks  string
		start int
	}{
		"150": {"1 procs 1 nodes", 585},               // of another user, behind a job --exclusive=user of one who waits for nothing
		"151": {"1 procs 1 nodes", 285},               // the same, whose owner waits for other nodes
		"152": {"8 procs 0 nodes", 107},               // -n8: of two nodes the halves that end first. Slurm's plan
		"153": {"8 procs 1 nodes", 2985},              // -n8 -N1: of the same nodes. Slurm's plan
		"154": {"24 procs 0 nodes", 645},              // -n24
		"155": {"12 procs 0 nodes each 3", 705},       // -n4 -c3
		"156": {"8 procs 2 nodes each 4", 167},        // -n8 --ntasks-per-node=4. Slurm's plan but for its rounding
		"157": {"12 procs 0 nodes", 765},              // -n12 -N1-4
		"158": {"10 procs 0 nodes begins 1362", 1363}, // -n10 -w n4, and what is missing elsewhere. Slurm's plan
		"159": {"1 procs 1 nodes", 1187},              // -p closed,short
		"160": {"24 procs 3 nodes", 1787},             // -p long,short -N3, of which long lets jobs have two. Slurm's plan
		"161": {"1 procs 1 nodes", 1187},              // of a partition that is DRAIN
	}
	out, starts := foretold(t, s)
	for _, j := range s.Jobs {
		w, ok := want[j.ID]
		if !ok {
			continue
		}
		if told(s.Now, j) != w.asks || starts[j.ID] != w.start {
			t.Errorf("%s: %s starts %d, want %s, %d", j.ID, told(s.Now, j), starts[j.ID], w.asks, w.start)
		}
		delete(want, j.ID)
	}
	if len(want) > 0 || len(out.Refused) > 0 {
		t.Errorf("without %v, refused %v", want, out.Refused)
	}
	var j batch.Job
	for _, w := range s.Jobs {
		if w.ID == "161" {
			j = w
		}
	}
	if _, why := out.Ask(j, 0); why.Cause != batch.Closed {
		t.Errorf("a partition that is DRAIN takes a job: %v", why)
	}
}

// TestOpenQueues: a job of several partitions waits in those that let it start, and goes by
// the greatest priority of these; one that none lets start stays where it is.
func TestOpenQueues(t *testing.T) {
	queues := []batch.Queue{{Name: "down", Priority: 9, Closed: true}, {Name: "low", Priority: 1}, {Name: "high", Priority: 2, MaxWallTime: time.Hour}, {Name: "small", Priority: 3, MaxNodes: 1, MaxProcs: 4}, {Name: "few", Priority: 4}}
	jobs := []batch.Job{
		{Queue: "down", Also: []string{"low", "high"}, Requested: time.Minute, Nodes: 1},
		{Queue: "low", Also: []string{"high", "small"}, Requested: 2 * time.Hour, Nodes: 2},
		{Queue: "small", Also: []string{"low"}, Requested: time.Minute, Nodes: 2},
		{Queue: "high", Also: []string{"down"}, Requested: 2 * time.Hour},
		{Queue: "down", Requested: time.Minute},
		{Queue: "high", Also: []string{"low"}, Requested: time.Minute, QOS: "guest"},
		{Queue: "small", Also: []string{"low"}, Requested: time.Minute, QOS: "other"},
		{Queue: "low", Also: []string{"small"}, Requested: time.Minute, Nodes: 1, Procs: 4, QOS: "guest"},
		{Queue: "low", Also: []string{"small"}, Requested: time.Minute, Nodes: 2, Procs: 4, QOS: "guest"},
		{Queue: "low", Also: []string{"small"}, Requested: time.Minute, Nodes: 1, Procs: 5, QOS: "guest"},
		{Queue: "low", Also: []string{"high"}, Requested: time.Hour},
		{Queue: "low", Also: []string{"high", "small"}, Requested: time.Minute, Nodes: 1, Account: "phys", QOS: "guest"},
		{Queue: "low", Also: []string{"down"}, Requested: time.Minute, Account: "chem"},
		{Queue: "few", Also: []string{"high"}, Requested: time.Minute, Account: "math"},
	}
	unasked := slices.Clone(jobs)
	parts := []map[string]string{{"PartitionName": "high", "DenyQos": "guest"}, {"PartitionName": "small", "AllowQos": "guest"}, {"PartitionName": "low", "AllowQos": "ALL", "DenyAccounts": "phys,chem"}, {"PartitionName": "few", "AllowAccounts": "bio"}}
	inOpenQueues(jobs, queues, parts, true)
	inOpenQueues(unasked, queues, parts, false) // where it does not matter who lets in what account
	if is := fmt.Sprint(unasked[11].Queue, unasked[11].Also); is != "small[low]" {
		t.Error(is)
	}
	for i, want := range []string{"high [low]", "low []", "low []", "high [down]", "down []", "low []", "low []", "small [low]", "low []", "low []", "high [low]", "small []", "low [down]", "high []"} {
		if is := fmt.Sprint(jobs[i].Queue, " ", jobs[i].Also); is != want {
			t.Errorf("job %d: %s, want %s", i, is, want)
		}
	}
}

// TestTasksStayWhole: what a task needs is on one node, also where a partition's MaxMemPerCPU
// makes one processor several, as Slurm 22.05 tells "-n1 --mem-per-cpu=500" with one of 200.
func TestTasksStayWhole(t *testing.T) {
	d := demanded([]string{"cpu=3,mem=501M,node=1,billing=3 ", "1 ", "1 ", "1 ", "N/A ", "N/A ", "1 ", "0 ", "(null) ", "0:00 ", "N/A ", "N/A ", "N/A ", "0 ", "* ", "N/A "})
	c := cluster{asked: map[string]demand{"1": d}}
	j := batch.Job{ID: "1", Procs: 3, Nodes: 2, Memory: 167}
	if c.remember(&j, nil, largest{}); j.Each != 3 || j.Nodes != 0 {
		t.Errorf("%+v", j)
	}
}

// TestRangesOfNodes: a job that is to be on two to four nodes starts on the least that hold it, also once Slurm has planned it: then a 22.05
// tells four of "-N2-4" as of "-N4", and the two as its resources alone.
func TestRangesOfNodes(t *testing.T) {
	for _, x := range []struct {
		asks, tres string
		procs      int // and nodes and the most of them, as squeue tells
		nodes, max int
		want       int
	}{
		{"-N2-4 -n8", "cpu=8,mem=200M,node=2,billing=8 ", 8, 4, 4, 2},
		{"-N2-4 -n24", "cpu=24,mem=200M,node=2,billing=24 ", 24, 4, 4, 3},
		{"-N4 -n8", "cpu=8,mem=400M,node=4,billing=8 ", 8, 4, 4, 4},
		{"-N1-3 -n12", "cpu=12,mem=100M,node=1,billing=12 ", 12, 3, 3, 0},
	} {
		d := demanded([]string{x.tres, "1 ", "1 ", fmt.Sprint(x.procs, " "), "N/A ", "N/A ", fmt.Sprint(x.max, " "), "0 ", "(null) ", "0:00 ", "N/A ", "N/A ", "N/A ", "0 ", "* ", "N/A "})
		c := cluster{asked: map[string]demand{"1": d}}
		j := batch.Job{ID: "1", Procs: x.procs, Nodes: x.nodes, Memory: 100}
		if c.remember(&j, nil, largest{cpus: 8}); j.Nodes != x.want {
			t.Errorf("%s: %d nodes, want %d", x.asks, j.Nodes, x.want)
		}
	}
}

// foretold is what a Slurm does that looks at all jobs every three seconds, and when each starts, in seconds from now.
func foretold(t *testing.T, s batch.State) (out *batch.Forecast, starts map[string]int) {
	t.Helper()
	f := batch.Forecaster{Policy: batch.Policy{Name: "slurm", Slurm: batch.Slurm{Interval: 3e9, Window: 336 * 3600e9, MaxJobTest: 5000}}}
	out, err := f.Forecast(s)
	if err != nil {
		t.Fatal(err)
	}
	starts = map[string]int{}
	for _, e := range out.Jobs {
		starts[e.ID] = int(e.Start.Sub(s.Now).Seconds())
	}
	return out, starts
}
