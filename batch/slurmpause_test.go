package batch_test

import (
	"fmt"
	"testing"
	"time"

	"gridbroker/batch"
)

// gang is the cluster of four nodes on which a real 22.05 and a real 24.11 were watched: jobs of the partition low are
// suspended for those of hi.
func gang(now time.Time) (batch.Forecaster, batch.State, func(id, queue string, procs, nodes int, mb int64, limit time.Duration) batch.Job) {
	s := batch.State{Now: now, Queues: []batch.Queue{{Name: "low", Priority: 1, PreemptMode: batch.PreemptSuspend}, {Name: "hi", Priority: 2}}}
	for n := range 4 {
		s.Nodes = append(s.Nodes, batch.Node{Name: fmt.Sprint("n", n+1), CPUs: 8, Memory: 16000, Up: true, Queues: []string{"low", "hi"}})
	}
	job := func(id, queue string, procs, nodes int, mb int64, limit time.Duration) batch.Job {
		return batch.Job{ID: id, Queue: queue, Procs: procs, Nodes: nodes, Memory: mb * int64(nodes) / int64(procs), Requested: limit, Submitted: now}
	}
	for n := range 4 {
		j := job(fmt.Sprint(n+1), "low", 8, 1, 1000, 3*time.Minute)
		j.Started, j.Placed = now.Add(-4*time.Second), []batch.Placement{{Node: fmt.Sprint("n", n+1), Procs: 8}}
		s.Jobs = append(s.Jobs, j)
	}
	p := batch.Slurm{Interval: 3 * time.Second, Preemption: batch.Preemption{Type: "partition_prio", ExemptTime: time.Hour}} // which does not count
	return batch.Forecaster{Policy: batch.Policy{Name: "slurm", Slurm: p}}, s, job
}

// tale is when and where jobs start, in seconds from now.
func tale(t *testing.T, f *batch.Forecaster, s batch.State) map[string]string {
	t.Helper()
	out, err := f.Forecast(s)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range out.Jobs {
		on := ""
		for _, p := range e.Placed {
			on += fmt.Sprint(" ", p.Node, ":", p.Procs)
		}
		got[e.ID] = fmt.Sprint(int(e.Start.Sub(s.Now).Seconds()), on)
	}
	return got
}

// TestSlurmSuspends: jobs of a higher partition start at once where others are suspended, which keep their memory, go on when these
// have ended, and end later by as long; nobody else of their partition has their processors. A 22.05 and a 24.11 did so: 6 started
// on n1, 7 and 8 together on n2, 9 on n3 and n4; the four that were suspended had their ends put off by 25 s, and 5, 10 and 11 waited for these.
func TestSlurmSuspends(t *testing.T) {
	now := time.Unix(1795963099, 0).UTC()
	f, s, job := gang(now)
	s.Jobs = append(s.Jobs, job("5", "low", 8, 1, 1000, 2*time.Minute), job("6", "hi", 8, 1, 1000, 25*time.Second), job("7", "hi", 4, 1, 1000, 25*time.Second),
		job("8", "hi", 4, 1, 1000, 15*time.Second), job("9", "hi", 16, 2, 2000, 25*time.Second), job("10", "hi", 8, 1, 15500, 2*time.Minute), job("11", "low", 2, 1, 100, time.Minute))
	want := map[string]string{"6": "0 n1:8", "7": "0 n2:4", "8": "0 n2:4", "9": "0 n3:8 n4:8", "10": "201 n1:8", "5": "201 n2:8", "11": "201 n3:2"}
	got := tale(t, &f, s)
	for id, w := range want {
		if got[id] != w {
			t.Errorf("%s: %s, want %s", id, got[id], w)
		}
	}
	s.Queues[0].PreemptMode = "" // not so where they are not
	if got := tale(t, &f, s); got["6"] != "176 n1:8" {
		t.Errorf("without: %v", got)
	}
}

// TestSlurmSuspendedGoesOn: one that is suspended when it is looked at goes on when the other ends, and a second one has the other
// part of its node; who is suspended on two nodes goes on when both are free.
func TestSlurmSuspendedGoesOn(t *testing.T) {
	now := time.Unix(1795963099, 0).UTC()
	f, s, job := gang(now)
	over := job("o", "hi", 4, 1, 100, time.Minute)
	over.Started, over.Placed = now, []batch.Placement{{Node: "n1", Procs: 4}}
	s.Jobs[0].Paused = true
	wide := job("w", "low", 16, 2, 1000, 3*time.Minute) // in place of 3 and 4
	wide.Started, wide.Placed = now.Add(-4*time.Second), []batch.Placement{{Node: "n3", Procs: 8}, {Node: "n4", Procs: 8}}
	s.Jobs = append(s.Jobs[:2:2], wide, over)
	waits := append(s.Jobs[:4:4], job("a", "hi", 4, 1, 100, 2*time.Minute), job("b", "low", 4, 1, 100, time.Minute), job("c", "hi", 8, 1, 100, 90*time.Second), job("d", "hi", 8, 1, 100, 30*time.Second))
	s.Jobs = waits
	got := tale(t, &f, s)
	// a has the other half of n1 from now on, so 1 goes on at 120; c is over 2, and d over a half of w, which goes on at 30; so 2 ends at 266, w at 206
	for id, w := range map[string]string{"a": "0 n1:4", "c": "0 n2:8", "d": "0 n3:8", "b": "206 n3:4"} {
		if got[id] != w {
			t.Errorf("%s: %s, want %s", id, got[id], w)
		}
	}
	s.Jobs = append(waits[:4:4], job("b", "low", 4, 1, 100, time.Minute))
	s.Jobs[1].Requested, s.Jobs[2].Requested = time.Hour, time.Hour
	if got := tale(t, &f, s); got["b"] != "236 n1:4" {
		t.Errorf("b starts %s: 1 goes on at 60 and ends at 236", got["b"])
	}
	live, err := f.Live(s)
	if err != nil {
		t.Fatal(err)
	}
	s.Now, s.Jobs = now.Add(time.Second), append([]batch.Job(nil), s.Jobs...)
	s.Jobs[0].Paused = false
	s.Jobs = append(s.Jobs[:3:3], s.Jobs[4])
	if did, err := live.Sync(s); err != nil || did.Changed != 1 || did.Ended != 1 || live.Starts(1)[0].Start.Sub(now) != 176*time.Second {
		t.Errorf("1 goes on: %+v, %v, %+v", did, err, live.Starts(1))
	}
}

// TestSlurmSuspendsLowest: of two partitions whose jobs would be suspended those of the lower one are, where they do.
func TestSlurmSuspendsLowest(t *testing.T) {
	now := time.Unix(1795963099, 0).UTC()
	f, s, job := gang(now)
	s.Queues = append(s.Queues, batch.Queue{Name: "lowest", PreemptMode: batch.PreemptSuspend})
	for i := range s.Nodes {
		s.Nodes[i].Queues = append(s.Nodes[i].Queues, "lowest")
	}
	s.Jobs[2].Queue = "lowest"
	s.Jobs = append(s.Jobs, job("a", "hi", 8, 1, 100, time.Minute), job("b", "hi", 8, 1, 100, time.Minute), job("c", "low", 8, 1, 100, time.Minute))
	got := tale(t, &f, s)
	for id, w := range map[string]string{"a": "0 n3:8", "b": "0 n4:8", "c": "60 n3:8"} {
		if got[id] != w {
			t.Errorf("%s: %s, want %s", id, got[id], w)
		}
	}
}

// TestSlurmSuspendedLong: one that is suspended for longer than it still runs ends when it has run that long; it is suspended again for
// the next, and no slot is told beside it.
func TestSlurmSuspendedLong(t *testing.T) {
	now := time.Unix(1795963099, 0).UTC()
	f, s, job := gang(now)
	s.Nodes, s.Jobs = s.Nodes[:1], s.Jobs[:1]
	s.Jobs[0].Requested = 30 * time.Second
	later := job("b", "hi", 8, 1, 100, 20*time.Second)
	later.Begin = now.Add(70 * time.Second)
	s.Jobs = append(s.Jobs, job("a", "hi", 8, 1, 100, time.Minute), later, job("c", "low", 8, 1, 100, time.Minute))
	got := tale(t, &f, s) // 1 has 26 s to run: from 60 to 71, when a pass gives b the place that c had, and from 91 on
	for id, w := range map[string]string{"a": "0 n1:8", "b": "71 n1:8", "c": "106 n1:8"} {
		if got[id] != w {
			t.Errorf("%s: %s, want %s", id, got[id], w)
		}
	}
	out, err := f.Forecast(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, slot := range out.Slots(time.Second) {
		if at := slot.From.Sub(now); at < 166*time.Second {
			t.Errorf("a slot at %v", at)
		}
	}
}
