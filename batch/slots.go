package batch

import (
	"slices"
	"time"
)

// Slot is a stretch of time in which a part of a node is expected to be free.
// The slots of a node do not overlap: a new one begins whenever anything of
// what is free changes.
type Slot struct {
	Node     string    `json:"node"`
	From     time.Time `json:"from"`
	To       time.Time `json:"to,omitzero"` // zero: not before the horizon
	CPUs     int       `json:"cpus"`
	Memory   int64     `json:"memory,omitempty"` // MB
	Disk     int64     `json:"disk,omitempty"`   // MB
	GPUs     int       `json:"gpus,omitempty"`
	Features []string  `json:"features,omitempty"`
	Queues   []string  `json:"queues,omitempty"` // that the node serves; empty: all
}

// Slots lists the expected free time of every node up to the horizon, by node
// and time: what no job that runs or is expected to, and no reservation, holds.
// A stretch without a free processor, or without free memory where the node says
// how much it has, is no slot. Where any processors will do for the jobs, those
// that are expected to start are put on the first nodes with room.
func (f *Forecast) Slots(horizon time.Duration) []Slot {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.packed()
	f.crowd(p)
	end := f.c.now + int64(horizon/time.Second)
	var list []Slot
	barred := f.c.state.barred()
	for i := range p.nodes {
		n := f.c.nodes.at(i)
		queues, some := unbarred(n.Queues, barred)
		if !some {
			continue
		}
		of := Slot{Node: n.Name, Features: n.Features, Queues: queues}
		list = p.nodes[i].slots(of, f.c.now, end, list)
	}
	return list
}

// barred are the queues that take none of the jobs of who reads the cluster.
func (s *State) barred() (names []string) {
	for i := range s.Queues {
		if s.Queues[i].Barred {
			names = append(names, s.Queues[i].Name)
		}
	}
	return names
}

// unbarred are those of a node's queues that are not barred, and whether there are any.
func unbarred(queues, barred []string) (names []string, some bool) {
	if len(barred) == 0 || len(queues) == 0 {
		return queues, true
	}
	names = slices.DeleteFunc(slices.Clone(queues), func(name string) bool { return slices.Contains(barred, name) })
	return names, len(names) > 0
}

// crowd holds what runs on nodes that have no room for it by the plan.
func (f *Forecast) crowd(p *nodePlan) {
	if !f.c.crowded {
		return
	}
	for i := range f.held {
		s := &f.held[i]
		j := &f.c.state.Jobs[s.job.ID]
		if j.Started.IsZero() {
			continue
		}
		for _, at := range j.occupies() {
			if n, up := f.c.nodes.find(at.Node); up {
				p.take(int32(n), holding{s.from, s.to, s.job.seq, 0, int32(at.Procs), amounts{procs: int32(at.Procs)}})
			}
		}
	}
}

// slots adds the stretches of a node in which something is free.
func (t *timeline) slots(of Slot, now, end int64, list []Slot) []Slot {
	times := []int64{now, end}
	for i := range t.held {
		for _, at := range []int64{t.held[i].from, t.held[i].to} {
			if at > now && at < end {
				times = append(times, at)
			}
		}
	}
	slices.Sort(times)
	times = slices.Compact(times)
	first := len(list)
	for i, at := range times[:len(times)-1] {
		free := t.have.minus(t.at(at, 0))
		if free.procs <= 0 || t.have.memory > 0 && free.memory <= 0 {
			continue
		}
		s := of
		s.From, s.To = time.Unix(at, 0).UTC(), time.Unix(times[i+1], 0).UTC()
		s.CPUs, s.Memory, s.Disk, s.GPUs = int(free.procs), free.memory, free.disk, int(free.gpus)
		if k := len(list) - 1; k >= first && list[k].To.Equal(s.From) && list[k].alike(s) {
			list[k].To = s.To
			continue
		}
		list = append(list, s)
	}
	if k := len(list) - 1; k >= first && list[k].To.Unix() == end {
		list[k].To = time.Time{}
	}
	return list
}

// alike tells whether two slots of a node offer the same.
func (s Slot) alike(o Slot) bool {
	return s.CPUs == o.CPUs && s.Memory == o.Memory && s.Disk == o.Disk && s.GPUs == o.GPUs
}

// minus is what is left, nothing less than 0.
func (a amounts) minus(b amounts) amounts {
	return amounts{max(0, a.memory-b.memory), max(0, a.disk-b.disk), max(0, a.procs-b.procs), max(0, a.gpus-b.gpus)}
}
