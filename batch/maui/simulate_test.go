package maui

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// traced is a line of a workload trace: a job that comes and then runs for so long.
func traced(id string, queued, tasks, limit, run int64) TraceJob {
	return TraceJob{Job: Job{ID: id, User: "u", Group: "g", Tasks: tasks, Limit: limit, Queued: queued, Started: 5}, Ended: 5 + run}
}

// tracedNodes are nodes of a resource trace, of so many processors each.
func tracedNodes(procs ...int64) (list []TraceNode) {
	for i, n := range procs {
		list = append(list, TraceNode{Node: Node{Name: fmt.Sprint("n", i), Procs: n, Memory: 100}})
	}
	return list
}

// playAll plays a simulation to its end, which it must have.
func playAll(t *testing.T, c *Config, nodes []TraceNode, jobs []TraceJob) *Simulation {
	t.Helper()
	s, err := Simulate(c, nodes, jobs)
	if err != nil {
		t.Fatal(err)
	}
	for steps := 0; ; steps++ {
		next, more := s.Next()
		if s.Step() != more {
			t.Fatalf("at %d: a next step was told (%v), and there is none, or the other way round", s.Now, more)
		}
		if !more {
			return s
		}
		if s.Now != next || steps > 20*len(jobs) {
			t.Fatalf("at %d instead of %d, after %d steps with %d jobs", s.Now, next, steps, len(jobs))
		}
	}
}

// TestSimulationRunsEveryJobOnce: whatever the queue looks like, in Maui's
// simulation mode every job that any node set can hold starts once, not before
// it comes, and ends when its run time is over; no node holds more than it has;
// one that cannot be is told as never run.
func TestSimulationRunsEveryJobOnce(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 7))
		nodes := tracedNodes(1+rng.Int64N(4), 1+rng.Int64N(4), 1+rng.Int64N(4))
		most := nodes[0].Procs + nodes[1].Procs + nodes[2].Procs
		var jobs []TraceJob
		for i := range 30 {
			jobs = append(jobs, traced(fmt.Sprint("j", i), 1000+rng.Int64N(500), 1+rng.Int64N(most+2), 20+rng.Int64N(200), rng.Int64N(200)))
		}
		c := NewConfig()
		c.Backfill = []string{"FIRSTFIT", "BESTFIT", "GREEDY", "NONE"}[seed%4]
		s := playAll(t, c, nodes, jobs)
		if len(s.Jobs) != len(jobs) {
			t.Fatalf("seed %d: %d jobs of %d", seed, len(s.Jobs), len(jobs))
		}
		asked := map[string]TraceJob{}
		for _, j := range jobs {
			asked[j.ID] = j
		}
		for _, j := range s.Jobs {
			a := asked[j.ID]
			run := max(1, a.Ended-a.Started)
			switch {
			case a.Tasks > most && (j.Outcome != "NotRun" || j.Started != 0 || len(j.TaskList) > 0):
				t.Errorf("seed %d: %s wants %d of %d processors: %+v", seed, j.ID, a.Tasks, most, j)
			case a.Tasks <= most && (j.Outcome != "Completed" || j.Started < a.Queued || j.Ended != j.Started+run || int64(len(j.TaskList)) != a.Tasks):
				t.Errorf("seed %d: %s of %d s: %+v", seed, j.ID, run, j)
			}
		}
		crowded(t, nodes, s.Jobs)
	}
}

// crowded looks at what is used of every node whenever a job begins.
func crowded(t *testing.T, nodes []TraceNode, jobs []TraceJob) {
	t.Helper()
	for _, at := range jobs {
		used := map[string]int64{}
		for _, j := range jobs {
			if j.Outcome == "Completed" && j.Started <= at.Started && at.Started < j.Ended {
				for _, n := range j.TaskList {
					used[n]++
				}
			}
		}
		for _, n := range nodes {
			if used[n.Name] > n.Procs {
				t.Errorf("at %d: %d tasks on the %d processors of %s", at.Started, used[n.Name], n.Procs, n.Name)
			}
		}
	}
}

// TestSimulationOfOneJobTwice: a trace with a job twice is refused; played, the
// first of the two would be started whenever the second ends, without end.
func TestSimulationOfOneJobTwice(t *testing.T) {
	jobs := []TraceJob{traced("a", 10, 1, 100, 50), traced("b", 10, 1, 100, 50), traced("a", 20, 1, 100, 50)}
	_, err := Simulate(NewConfig(), tracedNodes(1), jobs)
	if err == nil || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("%v, want the job that is there twice", err)
	}
}

// TestSimulationCancels: with JOBMAXOVERRUN a job is ended when it is past its
// limit by more than that and the scheduler looks, and is told as removed; what
// waits gets its node.
func TestSimulationCancels(t *testing.T) {
	c := NewConfig()
	c.Overrun = 10
	s := playAll(t, c, tracedNodes(1), []TraceJob{
		traced("long", 0, 1, 100, 1000), traced("early", 105, 1, 50, 50), traced("late", 120, 1, 50, 50),
	})
	long, early := s.Jobs[0], s.Jobs[1]
	if long.Outcome != "Removed" || long.Ended != 120 {
		t.Errorf("%s at %d, want Removed at 120: not at 105, within what is allowed", long.Outcome, long.Ended)
	}
	if early.Outcome != "Completed" || early.Started < 120 {
		t.Errorf("what waited began at %d: %s", early.Started, early.Outcome)
	}
}

// TestSimulationSuspends: a job that makes way goes on afterwards with the run
// time that was left, neither lost nor doubled.
func TestSimulationSuspends(t *testing.T) {
	c, _, err := ReadConfig(strings.NewReader(preemption + "BACKFILLPOLICY PREEMPT\n"))
	if err != nil {
		t.Fatal(err)
	}
	high := traced("high", 30, 1, 100, 40)
	high.QOS = "hi"
	s := playAll(t, c, tracedNodes(1), []TraceJob{traced("low", 0, 1, 200, 100), high})
	low, first := s.Jobs[0], s.Jobs[1]
	if first.Started != 30 || first.Ended != 70 || low.Ended != 140 || low.Outcome != "Completed" {
		t.Errorf("the preemptor from %d to %d, the other until %d (%s); want 30, 70, 140", first.Started, first.Ended, low.Ended, low.Outcome)
	}
}

// TestSimulationKeepsItsTrace: what was read is played, not changed: the same
// trace twice gives the same, whatever order its lines have.
func TestSimulationKeepsItsTrace(t *testing.T) {
	jobs := []TraceJob{traced("c", 90, 1, 50, 30), traced("a", 10, 2, 50, 30), traced("b", 40, 1, 50, 30)}
	first := playAll(t, NewConfig(), tracedNodes(2), jobs)
	if jobs[0].ID != "c" || jobs[0].Ended != 35 || jobs[1].TaskList != nil {
		t.Errorf("the trace was changed: %+v", jobs)
	}
	slices.Reverse(jobs)
	second := playAll(t, NewConfig(), tracedNodes(2), jobs)
	for i := range first.Jobs {
		if a, b := first.Jobs[i], second.Jobs[i]; a.ID != b.ID || a.Started != b.Started || a.Ended != b.Ended {
			t.Errorf("%s from %d to %d, then %s from %d to %d", a.ID, a.Started, a.Ended, b.ID, b.Started, b.Ended)
		}
	}
}

// TestSimulationNodesThatAreAway: a drained or absent node takes nothing, with
// the queue waiting for it.
func TestSimulationNodesThatAreAway(t *testing.T) {
	for _, state := range []NodeState{NodeDraining, NodeDown} {
		nodes := tracedNodes(2, 2)
		nodes[0].State = state
		s := playAll(t, NewConfig(), nodes, []TraceJob{traced("wide", 0, 4, 50, 30), traced("a", 1, 2, 50, 30), traced("b", 2, 2, 50, 30)})
		for _, j := range s.Jobs {
			if slices.Contains(j.TaskList, "n0") || (j.ID == "wide") != (j.Outcome == "NotRun") {
				t.Errorf("state %d: %s is %s on %v", state, j.ID, j.Outcome, j.TaskList)
			}
		}
	}
}
