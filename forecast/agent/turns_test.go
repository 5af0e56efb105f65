package agent

import (
	"fmt"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/wire"
)

// crowded is a bench whose 32 processors are all in use for the next hour, with a
// job waiting for all of them.
func crowded(t *testing.T) *bench {
	b := newBench(t)
	for i, n := range b.site.state.Nodes {
		b.site.state.Jobs = append(b.site.state.Jobs, batch.Job{ID: fmt.Sprint("r", i), Queue: "all", Procs: 8, Requested: time.Hour, Started: b.now, Submitted: b.now,
			Placed: []batch.Placement{{Node: n.Name, Procs: 8}}})
	}
	b.site.state.Jobs = append(b.site.state.Jobs, batch.Job{ID: "w", Queue: "all", Procs: 32, Requested: 2 * time.Hour, Submitted: b.now})
	return b
}

// step lets an agent look and publish.
func (b *bench) step(a *Agent) {
	b.t.Helper()
	if err := a.Step(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

// An agent tells when the turn of jobs would come that are put into its queue now, as
// its forecast has it, anew only where that is another.
func TestAgentTellsTurns(t *testing.T) {
	b := crowded(t)
	a := b.agent()
	a.Conf.Turns = 20
	b.step(a)
	load, site := b.c.load, b.c.site
	if site == nil || site.Turns != 20 {
		t.Fatalf("%+v: 20 guests may wait", site)
	}
	if load == nil || len(load.Turns) != 6*len(turnLengths) {
		t.Fatalf("%+v: want turns of 1, 2, 4, 8, 16 and 32 processors", load)
	}
	for _, v := range load.Turns {
		if want := b.now.Add(3 * time.Hour).Unix(); v.From != want { // behind the one that waits
			t.Errorf("%+v: want %d", v, want)
		}
	}
	b.c.load = nil
	b.now = b.now.Add(10 * time.Second)
	b.site.state.Now = b.now
	b.step(a)
	if b.c.load != nil {
		t.Errorf("nothing has changed, and it is told again: %+v", b.c.load)
	}
	b.site.state.Jobs = b.site.state.Jobs[:4] // the one that waited is gone
	b.now = b.now.Add(10 * time.Second)
	b.site.state.Now = b.now
	b.step(a)
	if b.c.load == nil || len(b.c.load.Turns) == 0 || b.c.load.Turns[0].From != b.now.Add(time.Hour-20*time.Second).Unix() {
		t.Errorf("%+v: the turn comes sooner now", b.c.load)
	}
}

// Where guests have slots alone, or are none of the local jobs' kind, no turn is told.
func TestSitesWithoutTurns(t *testing.T) {
	for name, c := range map[string]struct {
		turns int
		way   wire.Way
	}{"slots alone": {0, wire.Begin}, "reservations": {20, wire.Reservation}, "a partition": {20, wire.Partition}} {
		b := crowded(t)
		a := b.agent()
		a.Conf.Turns, a.Conf.Site.Start = c.turns, c.way
		b.step(a)
		if b.c.site == nil || b.c.site.Turns != 0 || b.c.load == nil || len(b.c.load.Turns) > 0 {
			t.Errorf("%s: %+v %+v", name, b.c.site, b.c.load)
		}
	}
}

func TestTurnsOfALongestGuest(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	asked := 0
	list := Turns(now, 5, time.Hour, func(procs int, wall time.Duration) (time.Time, bool) {
		asked++
		return now.Add(time.Duration(procs-1) * wall), procs < 5
	})
	want := []wire.Turn{{Procs: 1, Wall: 3600, From: now.Unix()}, {Procs: 2, Wall: 3600, From: now.Unix() + 3600}, {Procs: 2, Wall: 1800, From: now.Unix() + 1800},
		{Procs: 4, Wall: 3600, From: now.Unix() + 3*3600}, {Procs: 4, Wall: 1800, From: now.Unix() + 3*1800}}
	if fmt.Sprint(list) != fmt.Sprint(want) || asked != 7 {
		t.Errorf("asked %d times: %v, want %v", asked, list, want)
	}
}

// Once enough local jobs have started, turns have odds: between when and when they come.
func TestTurnsHaveOdds(t *testing.T) {
	b := crowded(t)
	a := b.agent()
	a.Conf.Turns = 20
	b.step(a)
	for _, v := range b.c.load.Turns {
		if v.Early != 0 || v.Late != 0 {
			t.Fatalf("%+v: nothing was learned yet", v)
		}
	}
	queue := b.site.state.Jobs
	for n := range 2 * leastLearned { // local jobs that start as soon as they come
		b.site.state.Jobs = nil
		b.later(fmt.Sprint("past", n), true)
		b.step(a)
	}
	b.now = b.now.Add(10 * time.Second)
	b.site.state.Now, b.site.state.Jobs = b.now, queue
	for i := range queue {
		if queue[i].Submitted = b.now; i < 4 {
			queue[i].Started = b.now
		}
	}
	b.step(a) // the odds are worked out after it is told
	b.now = b.now.Add(time.Minute)
	b.site.state.Now = b.now
	b.step(a)
	for _, v := range b.c.load.Turns {
		if now := b.now.Unix(); v.From <= now || v.Early < now || v.Late < v.Early || v.Late == 0 {
			t.Errorf("%+v at %d: want odds", v, now)
		}
	}
	d := near([]wire.Turn{{From: 5000, Early: 4000, Late: 9000}}, []wire.Turn{{From: 5000, Early: 4000, Late: 6000}}, 0)
	if d || near([]wire.Turn{{From: 5000, Late: 9000}}, []wire.Turn{{From: 5000}}, 0) || !near([]wire.Turn{{From: 5000, Late: 9000}}, []wire.Turn{{From: 5000, Late: 8900}}, 0) {
		t.Error("odds that have changed are told anew, and no others")
	}
}
