package wiki

import (
	"fmt"
	"slices"
	"time"

	"gridbroker/batch/maui"
)

// farm is the nodes of a Cluster, and how many processors of each are taken.
type farm struct {
	nodes []Node
	used  map[string]int64
}

// list shows the nodes as they are at a time.
func (f *farm) list(now time.Time) []Node {
	list := slices.Clone(f.nodes)
	for i := range list {
		n := &list[i]
		n.Updated, n.Free = now, max(0, n.Procs-f.used[n.Name])
		if n.State == maui.NodeIdle && n.Free < n.Procs {
			if n.State = maui.NodeRunning; n.Free == 0 {
				n.State = maui.NodeBusy
			}
		}
	}
	return list
}

// take takes or gives back the processors of a job.
func (f *farm) take(j *simulated, sign int64) {
	for _, n := range j.TaskList {
		f.used[n] += sign * max(1, j.TaskProcs)
	}
}

// anywhere finds nodes for a job that names none.
func (f *farm) anywhere(j *simulated) (tasks []string) {
	each := max(1, j.TaskProcs)
	for i := range f.nodes {
		n := &f.nodes[i]
		for free := n.Procs - f.used[n.Name]; n.State == maui.NodeIdle && free >= each && int64(len(tasks)) < j.Tasks; free -= each {
			tasks = append(tasks, n.Name)
		}
	}
	return tasks
}

// room checks that the nodes exist and have room.
func (f *farm) room(j *simulated, tasks []string) error {
	need := map[string]int64{}
	for _, n := range tasks {
		need[n] += max(1, j.TaskProcs)
	}
	for name, procs := range need {
		i := slices.IndexFunc(f.nodes, func(n Node) bool { return n.Name == name })
		switch {
		case i < 0:
			return &StatusError{CodeRefused, "no such node: " + name}
		case f.nodes[i].State == maui.NodeDown || f.nodes[i].State == maui.NodeDraining:
			return &StatusError{CodeRefused, "node " + name + " is " + nodeWords[f.nodes[i].State]}
		case f.used[name]+procs > f.nodes[i].Procs:
			return &StatusError{CodeNoResources, fmt.Sprintf("node %s has %d processors free", name, f.nodes[i].Procs-f.used[name])}
		}
	}
	return nil
}
