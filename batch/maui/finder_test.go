package maui

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// TestFinder: following the nodes finds what looking at all of them anew at
// every moment finds.
func TestFinder(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s := New(NewConfig())
		nodes, jobs := crowd(rng)
		r := newRun(s, 1000, nodes, jobs)
		for _, j := range r.jobs {
			if j.State != JobIdle {
				continue
			}
			at, list := r.earliest(j, &r.parts[0], never)
			wantAt, want := naive(r, j)
			if at != wantAt || !reflect.DeepEqual(list, want) {
				t.Fatalf("seed %d, job %s: %d %v, want %d %v", seed, j.ID, at, list, wantAt, want)
			}
			r.keep(j)
		}
	}
}

func naive(r *run, j *job) (int64, []placed) {
	var nodes []*node
	for _, n := range r.parts[0].nodes {
		if r.feasible(j, n) {
			nodes = append(nodes, n)
		}
	}
	for _, m := range r.moments(max(r.now, j.earliest, j.Begin)) {
		if list, ok := r.at(j, nodes, m.at); ok && m.free >= j.procs {
			return m.at, list
		}
	}
	return never, nil
}

func crowd(rng *rand.Rand) (nodes []Node, jobs []Job) {
	for i := range 2 + rng.IntN(5) {
		n := Node{Name: fmt.Sprint("n", i), Procs: 1 + rng.Int64N(6), Memory: 100}
		nodes = append(nodes, n)
		for left := n.Procs; left > 0; {
			tasks := 1 + rng.Int64N(left)
			left -= tasks + rng.Int64N(2)
			j := Job{ID: fmt.Sprint("r", len(jobs)), User: "u", Group: "g", Tasks: tasks, State: JobRunning, Started: 900, Limit: 50 + rng.Int64N(900)}
			for range tasks {
				j.TaskList = append(j.TaskList, n.Name)
			}
			jobs = append(jobs, j)
		}
	}
	for i := range 3 + rng.IntN(6) {
		j := Job{ID: fmt.Sprint("w", i), User: "u", Group: "g", Tasks: 1 + rng.Int64N(8), Limit: 10 + rng.Int64N(600), Queued: 500, Memory: rng.Int64N(40)}
		if rng.IntN(4) == 0 {
			j.TasksPerNode = 1 + rng.Int64N(2)
		}
		jobs = append(jobs, j)
	}
	return nodes, jobs
}

// TestIterateKeepsItsArguments: what the resource manager said stays as it is,
// also where running jobs are suspended.
func TestIterateKeepsItsArguments(t *testing.T) {
	c, _, err := ReadConfig(strings.NewReader("PREEMPTPOLICY SUSPEND\nQOSWEIGHT 1\nQOSCFG[hi] PRIORITY=1000 QFLAGS=PREEMPTOR\nQOSCFG[lo] QFLAGS=PREEMPTEE\nUSERCFG[DEFAULT] QLIST=hi,lo"))
	if err != nil {
		t.Fatal(err)
	}
	nodes := []Node{{Name: "n", Procs: 1, State: NodeBusy}}
	jobs := []Job{
		{ID: "a", User: "u", Group: "g", QOS: "lo", Tasks: 1, Limit: 100, State: JobRunning, Started: 900, TaskList: []string{"n"}},
		{ID: "b", User: "u", Group: "g", QOS: "hi", Tasks: 1, Limit: 100, Queued: 900},
	}
	actions := New(c).Iterate(1000, nodes, jobs)
	if len(actions) != 2 || actions[0].Verb != "SUSPENDJOB" || nodes[0].State != NodeBusy || jobs[0].State != JobRunning {
		t.Errorf("%v, node %v, job %v", actions, nodes[0].State, jobs[0].State)
	}
}
