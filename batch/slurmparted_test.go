package batch

import (
	"testing"
	"time"
)

// TestSlurmParted: two partitions without common nodes are planned by themselves, and
// what a pass tries is the first of the whole queue nevertheless: a job that comes ahead
// in one of them takes the place from the last job of the other.
func TestSlurmParted(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	s := State{Now: now, Queues: []Queue{{Name: "a"}, {Name: "b"}}}
	for _, q := range []string{"a", "b"} {
		s.Nodes = append(s.Nodes, Node{Name: q, CPUs: 4, Up: true, Queues: []string{q}})
		s.Jobs = append(s.Jobs,
			Job{ID: "r" + q, Queue: q, Procs: 4, Requested: time.Hour, Started: now, Placed: []Placement{{q, 4}}},
			Job{ID: "w" + q, Queue: q, Procs: 4, Requested: time.Hour, Submitted: now})
	}
	run := passing(t, s, Slurm{fine: true, MaxJobTest: 2}, 0)
	p := run.m.policy.(*slurm)
	pass := func() (held []int) {
		for last := p.last; p.last == last; {
			run.step()
		}
		for _, y := range p.yards {
			ground{p, run.m, y}.settle()
			held = append(held, len(y.held))
		}
		return held
	}
	if held := pass(); len(held) != 2 || held[0] != 1 || held[1] != 1 {
		t.Fatalf("jobs that have been tried, by part: %v", held)
	}
	task := run.m.jobs[p.yards[0].held[0]].Task
	task.ID, task.Priority = 9, 1
	run.m.submit(run.m.now, task)
	if held := pass(); len(held) != 2 || held[0] != 2 || held[1] != 0 {
		t.Errorf("when one has come ahead: %v", held)
	}
	waits, _ := p.yards[1].queue.head()
	if j := &run.m.jobs[waits.job]; j.planned != never || len(j.shares) > 0 {
		t.Errorf("who is not tried any more has a place at %d on %v", j.planned, j.shares)
	}
}
