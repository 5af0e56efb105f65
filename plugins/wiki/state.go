package wiki

import (
	"cmp"
	"slices"
	"time"

	"gridbroker/batch"
	"gridbroker/batch/maui"
)

// StateOf is a cluster as the engine sees it.
func StateOf(name string, now time.Time, nodes []Node, jobs []Job) batch.State {
	s := batch.State{Now: now, Cluster: name}
	known := map[string]bool{"": true}
	add := func(queue string) {
		if !known[queue] {
			known[queue] = true
			s.Queues = append(s.Queues, batch.Queue{Name: queue})
		}
	}
	sizes := make([]int64, len(nodes))
	for i := range nodes {
		n := &nodes[i]
		s.Nodes, sizes[i] = append(s.Nodes, n.batchNode()), n.Procs
		for _, q := range queuesOf(n) {
			add(q)
		}
	}
	slices.SortFunc(sizes, func(a, b int64) int { return cmp.Compare(b, a) })
	for i := range jobs {
		if j := &jobs[i]; !j.Gone {
			s.Jobs = append(s.Jobs, j.batchJob(j.spreadOver(sizes)))
			add(s.Jobs[len(s.Jobs)-1].Queue)
		}
	}
	return s
}

// batchNode is the node as the engine sees it.
func (n *Node) batchNode() batch.Node {
	queues := sortedKeys(n.Classes)
	if n.Partition != "" || len(queues) > 0 {
		queues = append(queues, n.partition())
	}
	return batch.Node{
		Name: n.Name, CPUs: int(n.Procs), Memory: n.Memory, Disk: n.Disk, GPUs: int(n.GPUs), Features: n.Features, Queues: queues,
		Up: n.State != maui.NodeDown && n.State != maui.NodeDraining,
	}
}

// batchJob is the job as the engine sees it, on so many nodes; 0: any number. A
// job of a class may run where that is served, else in any of its partitions.
func (j *Job) batchJob(nodes int64) batch.Job {
	b := batch.Job{
		ID: j.ID, User: j.User, Group: j.Group, Account: j.Account, QOS: j.QOS, Queue: j.Class,
		Procs: int(j.Tasks * max(1, j.TaskProcs)), Nodes: int(nodes), Disk: j.Disk, Features: j.Features,
		GPUs: int(j.GPUs * j.perNode(nodes)), Requested: time.Duration(j.Limit) * time.Second, Submitted: time.Unix(j.Queued, 0).UTC(),
		Held: j.State == maui.JobHeld || j.State == maui.JobSuspended, Memory: j.Memory / max(1, j.TaskProcs),
	}
	if j.Class == "" && len(j.Partitions) > 0 {
		b.Queue, b.Also = j.Partitions[0], j.Partitions[1:]
	}
	if j.Begin > 0 {
		b.Begin = time.Unix(j.Begin, 0).UTC()
	}
	if j.State == maui.JobRunning {
		b.Started = time.Unix(max(1, j.Started), 0).UTC()
		b.Placed = placed(j.TaskList, int(max(1, j.TaskProcs)))
	}
	return b
}

// spreadOver is how many nodes, of sizes from the largest down, a job is planned
// on: as many as it asks for; where a task needs several processors of one node,
// as many as can have the same number of tasks. 0: any number.
func (j *Job) spreadOver(sizes []int64) int64 {
	if j.Nodes > 0 || j.TaskProcs <= 1 || j.State == maui.JobRunning {
		return j.Nodes
	}
	wide, _ := slices.BinarySearchFunc(sizes, j.TaskProcs, func(size, want int64) int {
		if size >= want {
			return -1
		}
		return 1
	})
	const tries = 1 << 10
	for n := min(j.Tasks, int64(wide)); n > 0 && n > int64(wide)-tries; n-- {
		if j.Tasks%n == 0 && sizes[n-1] >= j.Tasks/n*j.TaskProcs {
			return n
		}
	}
	return 0
}

// perNode is how many tasks of a job share a node at most, as far as it says so.
func (j *Job) perNode(nodes int64) int64 {
	switch {
	case j.TasksPerNode > 0:
		return j.TasksPerNode
	case nodes > 0:
		return (j.Tasks + nodes - 1) / nodes
	}
	return 1
}

// placed counts the processors on each node.
func placed(list []string, each int) (out []batch.Placement) {
	at := map[string]int{}
	for _, name := range list {
		i, ok := at[name]
		if !ok {
			i = len(out)
			at[name] = i
			out = append(out, batch.Placement{Node: name})
		}
		out[i].Procs += each
	}
	return out
}
