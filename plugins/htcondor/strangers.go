package htcondor

import (
	"sync"
	"time"

	"gridbroker/batch"
)

// strangers keeps since when slots are given to jobs of other schedds, of which the one that is asked tells nothing. It is
// safe for concurrent use.
type strangers struct {
	mu    sync.Mutex
	since map[string]time.Time
}

// fill adds to a state what slots have given away to jobs that are not in it, processors, memory and GPUs: of each slot one running
// job of nobody's, without a limit of its own.
func (h *strangers) fill(s *batch.State, slots []slot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ours := map[string]batch.Job{}
	for i := range s.Jobs {
		for _, p := range s.Jobs[i].Placed {
			has := ours[p.Node]
			has.Procs, has.Memory, has.GPUs = has.Procs+p.Procs, has.Memory+s.Jobs[i].Memory*int64(p.Procs), has.GPUs+s.Jobs[i].GPUs
			ours[p.Node] = has
		}
	}
	since := map[string]time.Time{}
	for _, sl := range slots {
		name := sl.text("Name")
		given, has := sl.given(), ours[name]
		if has.Procs > 0 && !sl.truth("PartitionableSlot") {
			continue // it has one job, whatever that asked for
		}
		procs := given.Procs - has.Procs
		if procs <= 0 {
			continue
		}
		from, ok := h.since[name]
		if !ok {
			from = s.Now
		}
		since[name] = from
		s.Jobs = append(s.Jobs, batch.Job{ID: "hidden/" + name, Queue: queueName, Procs: procs, Nodes: 1, Memory: max(0, given.Memory-has.Memory) / int64(procs),
			GPUs: max(0, given.GPUs-has.GPUs), Submitted: from, Started: from, Placed: []batch.Placement{{Node: name, Procs: procs}}})
	}
	h.since = since
}

// given is what a slot has given to jobs, of whatever schedd: of a partitionable one what is not left over, of
// another all of it once it is claimed.
func (s slot) given() (j batch.Job) {
	j.Procs, j.Memory, j.GPUs = int(s.amount("TotalSlotCpus")), s.amount("TotalSlotMemory"), int(s.amount("TotalSlotGPUs"))
	switch {
	case s.truth("PartitionableSlot"):
		j.Procs, j.Memory, j.GPUs = j.Procs-int(s.amount("Cpus")), j.Memory-s.amount("Memory"), j.GPUs-int(s.amount("GPUs"))
	case s.text("State") != "Claimed":
		j = batch.Job{}
	}
	return j
}
