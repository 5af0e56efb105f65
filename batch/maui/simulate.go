package maui

import (
	"cmp"
	"fmt"
	"slices"
)

// Simulation is Maui's simulation mode: the jobs of a workload trace on the
// nodes of a resource trace. An iteration runs wherever a job comes or ends.
type Simulation struct {
	Scheduler *Scheduler
	Now       int64
	Jobs      []TraceJob // as they have fared; in order of submission

	nodes  []Node
	left   []int64 // run time to come, by job
	index  map[string]int
	events []int64 // a heap would do; kept sorted
}

// Simulate sets a simulation up. What the trace says of starts and ends counts
// only as the run time. A job that is there twice is an error: what Maui says of
// it would be said of both.
func Simulate(c *Config, nodes []TraceNode, jobs []TraceJob) (*Simulation, error) {
	s := &Simulation{Scheduler: New(c), Jobs: slices.Clone(jobs), index: make(map[string]int, len(jobs))}
	for i := range nodes {
		s.nodes = append(s.nodes, nodes[i].Node)
	}
	slices.SortStableFunc(s.Jobs, func(a, b TraceJob) int { return cmp.Compare(a.Queued, b.Queued) })
	for i := range s.Jobs {
		j := &s.Jobs[i]
		s.left = append(s.left, max(1, j.Ended-j.Started))
		if _, twice := s.index[j.ID]; twice {
			return nil, fmt.Errorf("job %.40q is in the trace twice", j.ID)
		}
		s.index[j.ID] = i
		j.Started, j.Dispatched, j.Ended, j.TaskList, j.State, j.Outcome, j.Partitions = 0, 0, 0, nil, JobIdle, "NotRun", nil
		s.events = append(s.events, j.Queued)
	}
	s.events = slices.Compact(s.events)
	return s, nil
}

// Step goes on to the next thing that happens, with Maui's iteration there;
// false: nothing happens any more.
func (s *Simulation) Step() bool {
	if len(s.events) == 0 {
		return false
	}
	s.Now, s.events = s.events[0], s.events[1:]
	list, nodes := s.present()
	for _, a := range s.Scheduler.Iterate(s.Now, nodes, list) {
		s.act(a)
	}
	return true
}

// Next is when Step would go to; false: nothing happens any more.
func (s *Simulation) Next() (int64, bool) {
	if len(s.events) == 0 {
		return 0, false
	}
	return s.events[0], true
}

// act does what Maui says.
func (s *Simulation) act(a Action) {
	i := s.index[a.Job]
	j := &s.Jobs[i]
	switch a.Verb {
	case "STARTJOB":
		j.Started, j.Dispatched, j.TaskList, j.State = s.Now, s.Now, a.TaskList, JobRunning
		s.ends(i)
	case "RESUMEJOB":
		j.State = JobRunning
		s.ends(i)
	case "SUSPENDJOB":
		s.left[i], j.State, j.Ended = j.Ended-s.Now, JobSuspended, 0
	case "CANCELJOB":
		j.Ended, j.Outcome = s.Now, "Removed"
	}
}

// ends plans the end of a job that begins or goes on now.
func (s *Simulation) ends(i int) {
	j := &s.Jobs[i]
	j.Ended, j.Outcome = s.Now+s.left[i], "Completed"
	if at, found := slices.BinarySearch(s.events, j.Ended); !found {
		s.events = slices.Insert(s.events, at, j.Ended)
	}
}

// present is what a resource manager would say now.
func (s *Simulation) present() (list []Job, nodes []Node) {
	used := map[string]int64{}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if j.Queued > s.Now {
			break
		}
		if j.Ended > 0 && j.Ended <= s.Now {
			continue
		}
		list = append(list, j.Job)
		if j.State == JobRunning {
			for _, n := range j.TaskList {
				used[n] += max(1, j.TaskProcs)
			}
		}
	}
	nodes = slices.Clone(s.nodes)
	for i := range nodes {
		n := &nodes[i]
		switch {
		case n.State != NodeIdle || used[n.Name] == 0:
		case used[n.Name] >= n.Procs:
			n.State = NodeBusy
		default:
			n.State = NodeRunning
		}
	}
	return list, nodes
}
