package scheduler

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"gridbroker/forecast/wire"
)

// A cycle writes no more outlooks than its bound. Of those that have changed the
// ones that no cycle has written yet are first, then the oldest: after some cycles
// every job's is new.
func TestOutlooksHaveTheirTurn(t *testing.T) {
	const jobs = 2*maxOutlooks + maxOutlooks/2
	queue := make([]*Job, jobs)
	for i := range queue {
		queue[i] = &Job{ID: fmt.Sprint("s", i), Seq: int64(i)}
	}
	cycle := func(now int64) int {
		var list []foreseen
		for _, j := range queue {
			list = append(list, foreseen{j, &Place{Cluster: "c", From: 100 * now, Made: now}})
		}
		w := &work{mem: newMemory(0), changed: map[string]*Job{}}
		w.outlooks(list)
		if w.report.Outlooks != len(w.changed) {
			t.Errorf("%d outlooks reported, %d written", w.report.Outlooks, len(w.changed))
		}
		return len(w.changed)
	}
	for now := int64(1); now <= 9; now++ {
		if n := cycle(now); n != maxOutlooks {
			t.Errorf("cycle %d wrote %d outlooks, want %d", now, n, maxOutlooks)
		}
		for _, j := range queue {
			if made := j.Outlook.age(); now >= 3 && made <= now-3 {
				t.Fatalf("in cycle %d the outlook of %s is of cycle %d", now, j.ID, made)
			}
		}
	}
}

// What has moved by a minute or less is not written again.
func TestOutlookThatHardlyMoved(t *testing.T) {
	old := &Place{Cluster: "c", From: 1000, Made: 1}
	for _, v := range []struct {
		p     Place
		write bool
	}{
		{Place{Cluster: "c", From: 1060}, false},
		{Place{Cluster: "c", From: 940}, false},
		{Place{Cluster: "c", From: 1061}, true},
		{Place{Cluster: "c", From: 939}, true},
		{Place{Cluster: "d", From: 1000}, true},
	} {
		j := &Job{ID: "s", Outlook: old}
		if foreseen := j.foreseen(v.p.Cluster, v.p.From); foreseen == v.write {
			t.Errorf("%s at %d after %s at %d: foreseen %v", v.p.Cluster, v.p.From, old.Cluster, old.From, foreseen)
		}
	}
}

// The first cycle of a leader, for which all is read, writes no outlooks: jobs get
// their slots before. The next one does, and then only where they are others.
func TestFirstCycleOnlyBooks(t *testing.T) {
	seal, err := NewSeal(NewKey())
	if err != nil {
		t.Fatal(err)
	}
	store, err := OpenStore(sqliteDSN(t), seal)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	slot := wire.Slot{ID: 1, Node: "n", CPUs: 1, From: now.Unix() + 1800, To: now.Unix() + 7200, Start: 0.97, Hold: 0.9}
	var set wire.Set
	set.Put(slot)
	d := set.Whole()
	d.Cluster, d.Seq, d.Made, d.TTL = "c", 1, now.Unix(), 3600
	d.Site = &wire.Site{LRMS: "slurm", Start: wire.Begin, Nodes: []wire.Node{{Name: "n", CPUs: 1, Up: true}}}
	if _, err := store.ingest(t.Context(), d, nil, now, nil); err != nil {
		t.Fatal(err)
	}
	s := New(Config{Name: "first", Clusters: map[string]ClusterConfig{"c": {}}}, store, nil, func() time.Time { return now }, slog.New(slog.DiscardHandler))
	if _, err := s.Submit(t.Context(), Person{Subject: "alice"}, []Submission{{Key: "k", JDL: `[ Executable = "/bin/true"; WallTime = 600; ]`}}); err != nil {
		t.Fatal(err)
	}
	epoch, err := takeOver(t.Context(), store, "first")
	if err != nil {
		t.Fatal(err)
	}
	for cycle, want := range []int{0, 1, 0, 1} {
		if cycle == 3 {
			s.mem.jobs.waits()[0].Outlook.From -= 61
		}
		if r, err := s.Cycle(t.Context(), epoch); err != nil || r.Jobs != 1 || r.Slots != 1 || r.Outlooks != want {
			t.Errorf("cycle %d: %+v, %v; want %d outlooks", cycle, r, err, want)
		}
	}
}
