package slurm

import (
	"sync"
	"time"

	"gridbroker/batch"
)

// hidden keeps since when processors of nodes are given to jobs that the account
// is not shown (PrivateData=jobs). It is safe for concurrent use.
type hidden struct {
	mu    sync.Mutex
	some  bool // the cluster hides jobs
	since map[string]time.Time
}

// set notes whether the cluster hides jobs.
func (h *hidden) set(some bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.some = some
}

// fill adds to a state what the nodes have given away to jobs that are not in it, processors,
// memory and GPUs: of each node one running job of nobody's, without a limit of its own.
func (h *hidden) fill(s *batch.State, nodes []map[string]string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.some {
		return
	}
	left := unseen(s, nodes)
	since := map[string]time.Time{}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		has := left[n.Name]
		procs := has.Procs
		if procs <= 0 {
			continue
		}
		from, ok := h.since[n.Name]
		if !ok {
			from = s.Now
		}
		since[n.Name] = from
		j := batch.Job{ID: "hidden/" + n.Name, Procs: procs, Nodes: 1, Memory: max(0, has.Memory) / int64(procs), GPUs: max(0, has.GPUs), Submitted: from, Started: from, Placed: []batch.Placement{{Node: n.Name, Procs: procs}}}
		if len(n.Queues) > 0 {
			j.Queue = n.Queues[0]
		}
		s.Jobs = append(s.Jobs, j)
	}
	h.since = since
}

// unseen is what the nodes have given away beyond what jobs of the state have, by node.
func unseen(s *batch.State, nodes []map[string]string) map[string]batch.Job {
	left := make(map[string]batch.Job, len(nodes))
	for _, n := range nodes {
		left[n["NodeName"]] = batch.Job{Procs: atoi(n["CPUAlloc"]), Memory: int64(atoi(n["AllocMem"])), GPUs: gpus(n["GresUsed"])}
	}
	for _, j := range s.Jobs {
		for _, p := range j.Placed {
			has := left[p.Node]
			if !j.Suspended {
				has.Procs -= p.Procs
			}
			has.Memory, has.GPUs = has.Memory-j.Memory*int64(p.Procs), has.GPUs-j.GPUs
			left[p.Node] = has
		}
	}
	return left
}
