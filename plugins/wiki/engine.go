package wiki

import (
	"fmt"
	"slices"
	"time"

	"gridbroker/batch"
	"gridbroker/batch/maui"
)

// Engine decides by a policy of the engine: what it forecasts to start at once
// is started.
type Engine struct{ Forecaster *batch.Forecaster }

// Decide implements Decider.
func (g Engine) Decide(now time.Time, nodes []Node, jobs []Job) ([]maui.Action, error) {
	byID := make(map[string]*Job, len(jobs))
	for i := range jobs {
		byID[jobs[i].ID] = &jobs[i]
	}
	state := StateOf("", now, nodes, jobs)
	restrict(&state, nodes, byID)
	forecast, err := g.Forecaster.Forecast(state)
	if err != nil {
		return nil, err
	}
	free := freeNow(nodes, jobs)
	var actions []maui.Action
	for _, e := range forecast.Jobs {
		if e.Start.After(now) {
			continue
		}
		if tasks, ok := places(byID[e.ID], e.Placed, nodes, free); ok {
			actions = append(actions, maui.Action{Verb: StartJob, Job: e.ID, TaskList: tasks})
		}
	}
	return actions, nil
}

// maxWishes bounds the wishes that are looked at in one round.
const maxWishes = 256

// restrict keeps jobs from nodes that do not have what they ask for. The engine
// knows features: each wish it does not know is one, of the nodes that meet it.
// Jobs with wishes beyond the first maxWishes are left for a later round.
func restrict(s *batch.State, nodes []Node, byID map[string]*Job) {
	met := map[string]bool{}
	for i := range s.Jobs {
		b := &s.Jobs[i]
		j := byID[b.ID]
		wish := j.wish()
		if wish == "" || !b.Started.IsZero() {
			continue
		}
		if !met[wish] {
			if len(met) == maxWishes {
				b.Held = true
				continue
			}
			met[wish] = true
			for k := range nodes {
				if nodes[k].meets(j) {
					s.Nodes[k].Features = append(slices.Clip(s.Nodes[k].Features), wish)
				}
			}
		}
		b.Features = append(slices.Clip(b.Features), wish)
	}
}

// wish is what a job asks for of nodes beside class, features and room, as a
// name that no feature has; empty: nothing.
func (j *Job) wish() string {
	none := maui.Demand{}
	if len(j.Hosts) == 0 && j.OS == "" && j.Arch == "" && (j.Class == "" || len(j.Partitions) == 0) &&
		j.NodeMemory == none && j.NodeDisk == none && j.NodeSwap == none {
		return ""
	}
	m, d, s := j.NodeMemory, j.NodeDisk, j.NodeSwap
	return fmt.Sprintf("\x01%q %q %q %q %q %d %q %d %q %d", j.Hosts, j.OS, j.Arch, j.Partitions, m.Compare, m.Amount, d.Compare, d.Amount, s.Compare, s.Amount)
}

// meets tells whether a node has what a job asks for beside class, features and
// room.
func (n *Node) meets(j *Job) bool {
	return (len(j.Hosts) == 0 || slices.Contains(j.Hosts, n.Name)) &&
		(j.OS == "" || j.OS == n.OS) && (j.Arch == "" || j.Arch == n.Arch) &&
		(len(j.Partitions) == 0 || slices.Contains(j.Partitions, n.partition())) &&
		j.NodeMemory.Met(n.Memory) && j.NodeDisk.Met(n.Disk) && j.NodeSwap.Met(n.Swap)
}

// freeNow is what is free of each node that takes jobs.
func freeNow(nodes []Node, jobs []Job) map[string]int64 {
	free := make(map[string]int64, len(nodes))
	for i := range nodes {
		if n := &nodes[i]; n.State == maui.NodeIdle || n.State == maui.NodeRunning {
			free[n.Name] = n.Procs
		}
	}
	for i := range jobs {
		if j := &jobs[i]; j.State == maui.JobRunning {
			for _, n := range j.TaskList {
				free[n] -= max(1, j.TaskProcs)
			}
		}
	}
	for i := range nodes {
		if n := &nodes[i]; n.Free >= 0 {
			free[n.Name] = min(free[n.Name], n.Free)
		}
	}
	return free
}

// places names a node for each task of a job, where it was placed or where
// there is room, and takes it. Where the parts are not of whole tasks, the rest
// goes to those of its nodes that have room. The room is there unless a job was
// expected to end that has not.
func places(j *Job, placed []batch.Placement, nodes []Node, free map[string]int64) (tasks []string, ok bool) {
	if j == nil {
		return nil, false
	}
	each, left, taken := max(1, j.TaskProcs), j.Tasks, map[string]int64{}
	take := func(name string, most int64) {
		n := min(left, most/each, max(0, free[name]-taken[name])/each)
		for range n {
			tasks = append(tasks, name)
		}
		left, taken[name] = left-n, taken[name]+n*each
	}
	for _, p := range placed {
		take(p.Node, int64(p.Procs))
	}
	for _, p := range placed {
		take(p.Node, free[p.Node])
	}
	for i := 0; i < len(nodes) && len(placed) == 0 && left > 0; i++ {
		take(nodes[i].Name, nodes[i].Procs)
	}
	if left > 0 {
		return nil, false
	}
	for name, procs := range taken {
		free[name] -= procs
	}
	return tasks, true
}
