package batch_test

import (
	"testing"
	"time"

	"gridbroker/batch"
)

// TestSuspended: a suspended job keeps memory, disk and GPUs of its nodes and no processor, until its limit and beyond, as
// long as it is there; jobs for themselves share the node with it.
func TestSuspended(t *testing.T) {
	now := time.Unix(1_000_000, 0).UTC()
	suspended := batch.Job{ID: "s", Procs: 7, Memory: 101, Disk: 30, GPUs: 1, Requested: time.Hour, Submitted: now, Started: now, Suspended: true,
		Placed: []batch.Placement{{Node: "a", Procs: 4}, {Node: "b", Procs: 3}}}
	for name, c := range map[string]struct {
		job   batch.Job
		start time.Duration // from now
	}{
		"its processors":    {batch.Job{Procs: 8, Memory: 1}, 0},
		"memory beside it":  {batch.Job{Procs: 8, Memory: 80}, 0},
		"its memory":        {batch.Job{Procs: 8, Memory: 81}, time.Hour},
		"a node for itself": {batch.Job{Procs: 8, Exclusive: true}, 0},
		"its disk":          {batch.Job{Procs: 1, Disk: 71}, time.Hour},
		"its GPU":           {batch.Job{Procs: 1, GPUs: 2}, time.Hour},
		"the other":         {batch.Job{Procs: 1, GPUs: 1}, 0},
		"any processors":    {batch.Job{Procs: 16}, 0},
	} {
		for _, policy := range []string{"slurm", "easy", "conservative", "maui", "fcfs"} {
			j := c.job
			j.ID, j.Submitted, j.Requested = "w", now, time.Hour
			nodes := []batch.Node{{Name: "a", CPUs: 8, Memory: 1000, Disk: 100, GPUs: 2, Up: true}, {Name: "b", CPUs: 8, Memory: 1000, Disk: 100, GPUs: 2, Up: true}}
			if name != "any processors" {
				j.Nodes = 1
			}
			f := &batch.Forecaster{Policy: batch.Policy{Name: policy}}
			state := batch.State{Now: now, Nodes: nodes, Jobs: []batch.Job{suspended, j}}
			first, err := f.Forecast(state)
			if err != nil {
				t.Fatal(err)
			}
			if len(first.Jobs) != 1 || first.Jobs[0].Start.Sub(now) != c.start {
				t.Errorf("%s, %s: %+v, want %v", policy, name, first.Jobs, c.start)
			}
			for _, slot := range first.Slots(time.Minute) {
				if c.start > 0 && (slot.CPUs != 8 || slot.Memory != 646 || slot.Disk != 70 || slot.GPUs != 1) {
					t.Errorf("%s, %s: %+v", policy, name, slot)
				}
			}
			live, err := f.Live(state)
			if err != nil {
				t.Fatal(err)
			}
			live.Advance(now.Add(time.Hour + time.Minute)) // it outlasts its limit, by a tenth
			if at := live.Starts(1); c.start > 0 && (len(at) != 1 || at[0].Start.Sub(now) != 66*time.Minute) {
				t.Errorf("%s, %s, behind its limit: %+v", policy, name, at)
			}
		}
	}
}

// TestSuspendedTogether: what runs beside a suspended job has all of the node's processors, by one that goes on the model is
// set up anew, and on a plain pool it has none.
func TestSuspendedTogether(t *testing.T) {
	now := time.Unix(1_000_000, 0).UTC()
	job := func(id string, procs int, limit time.Duration) batch.Job {
		return batch.Job{ID: id, Procs: procs, Requested: limit, Submitted: now, Started: now, Placed: []batch.Placement{{Node: "a", Procs: procs}}}
	}
	still, runs := job("s", 8, 3*time.Hour), job("r", 8, time.Hour)
	still.Suspended = true
	waits := batch.Job{ID: "w", Procs: 8, Requested: time.Hour, Submitted: now}
	for _, policy := range []string{"slurm", "easy"} {
		f := &batch.Forecaster{Policy: batch.Policy{Name: policy}}
		state := batch.State{Now: now, Nodes: []batch.Node{{Name: "a", CPUs: 8, Up: true}}, Jobs: []batch.Job{still, runs, waits}}
		live, err := f.Live(state)
		if err != nil {
			t.Fatal(err)
		}
		if at := live.Starts(1); len(at) != 1 || at[0].Start.Sub(now) != time.Hour {
			t.Errorf("%s: %+v", policy, at)
		}
		still.Suspended = false
		state.Jobs = []batch.Job{still, waits}
		if _, err := live.Sync(state); err != nil {
			t.Fatal(err)
		}
		if at := live.Starts(1); len(at) != 1 || at[0].Start.Sub(now) != 3*time.Hour {
			t.Errorf("%s, when it goes on: %+v", policy, at)
		}
		still.Suspended, still.Placed = true, nil
		state.Jobs = []batch.Job{still, waits}
		if _, err := live.Sync(state); err != nil {
			t.Fatal(err)
		}
		if at := live.Starts(1); len(at) != 1 || at[0].Start.Sub(now) != 0 {
			t.Errorf("%s, nobody says where: %+v", policy, at)
		}
		still.Placed = []batch.Placement{{Node: "a", Procs: 8}}
		long, last := waits, waits // its end gives no processor back
		long.Requested, last.ID = 4*time.Hour, "x"
		state.Jobs = []batch.Job{still, long, last}
		if out, err := f.Forecast(state); err != nil || len(out.Jobs) != 2 || out.Jobs[1].Start.Sub(now) != 4*time.Hour {
			t.Errorf("%s, behind its end: %+v, %v", policy, out, err)
		}
		if live, err = f.Live(state); err != nil {
			t.Fatal(err)
		}
		long.Started, long.Placed = now, []batch.Placement{{Node: "a", Procs: 8}}
		if _, err := live.Sync(batch.State{Now: now.Add(time.Hour), Nodes: state.Nodes, Jobs: []batch.Job{long, last}}); err != nil {
			t.Fatal(err)
		}
		if at := live.Starts(1); len(at) != 1 || at[0].Start.Sub(now) != 4*time.Hour {
			t.Errorf("%s, when it has ended: %+v", policy, at)
		}
		more := runs // more than the node has
		more.ID = "more"
		state.Nodes = append(state.Nodes, batch.Node{Name: "b", CPUs: 8, Up: true})
		still.Placed = []batch.Placement{{Node: "b", Procs: 8}}
		state.Jobs = []batch.Job{still, runs, more}
		out, err := f.Forecast(state)
		if err != nil {
			t.Fatal(err)
		}
		if slots := out.Slots(time.Minute); len(slots) != 1 || slots[0].Node != "b" || slots[0].CPUs != 8 {
			t.Errorf("%s, beside a crowded node: %+v", policy, slots)
		}
		still.Placed = []batch.Placement{{Node: "a", Procs: 8}}
	}
}

// TestSuspendedLean: a job of less memory starts beside a suspended one, before one of as many processors that waits for its
// memory; and nobody has a suspended job give way.
func TestSuspendedLean(t *testing.T) {
	now := time.Unix(1_000_000, 0).UTC()
	queues := []batch.Queue{{Name: "high", Priority: 2}, {Name: "low", Priority: 1, PreemptMode: batch.PreemptRequeue}}
	for name, p := range map[string]batch.Policy{
		"slurm": {Name: "slurm"}, "conservative": {Name: "conservative"}, "maui": {Name: "maui", Maui: batch.Maui{ReservationDepth: batch.Unlimited}},
		"preemption": {Name: "slurm", Slurm: batch.Slurm{Preemption: batch.Preemption{Type: "partition_prio"}}},
	} {
		waits := func(id string, mb int64, limit time.Duration) batch.Job {
			return batch.Job{ID: id, Procs: 8, Nodes: 1, Memory: mb, Requested: limit, Submitted: now, Queue: "high"}
		}
		s := batch.State{Now: now, Queues: queues, Nodes: []batch.Node{{Name: "a", CPUs: 8, Memory: 1000, Up: true}}, Jobs: []batch.Job{
			{ID: "s", Procs: 6, Memory: 100, Requested: time.Hour, Submitted: now, Started: now, Suspended: true, Queue: "low", Placed: []batch.Placement{{Node: "a", Procs: 6}}},
			waits("fat", 100, 20*time.Minute), waits("lean", 10, 50*time.Minute)}}
		f := &batch.Forecaster{Policy: p}
		out, err := f.Forecast(s)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]time.Duration{}
		for _, e := range out.Jobs {
			got[e.ID] = e.Start.Sub(now)
		}
		if got["fat"] != time.Hour || got["lean"] != 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}
