package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/scheduler"
	"gridbroker/testdata/testbed"
)

// The scheduler whole, with its database, outbox and the agents of its sites,
// does what the planner alone does, no later: sending takes no cycle of its own.
// A seed gives the same bytes.
func TestWholeScheduler(t *testing.T) {
	testbed.Computes(t)
	s := scenario(t, "gras.toml")
	s.Seeds, s.Jobs.Count, s.Policies = 1, 40, []string{GrAS, Stored}
	a, b := compare(t, s), compare(t, s)
	planner, whole := a.Runs[0], a.Runs[1]
	t.Logf("mean waits: %.0f s by the planner, %.0f s by the scheduler; %d messages", planner.MeanWait, whole.MeanWait, whole.Messages)
	if whole.Jobs != 40 || whole.Booked < 40 || whole.Missed > 4 {
		t.Errorf("%d of 40 jobs ran, %d bookings, %d missed", whole.Jobs, whole.Booked, whole.Missed)
	}
	if cycle := s.Cycle.Seconds(); math.Abs(whole.MeanWait-planner.MeanWait) > cycle/2 {
		t.Errorf("mean wait %.0f s, by the planner alone %.0f s: more than half a cycle apart", whole.MeanWait, planner.MeanWait)
	}
	one, _ := json.Marshal(whole)
	two, _ := json.Marshal(b.Runs[1])
	if string(one) != string(two) {
		t.Error("two runs of one seed differ")
	}
}

// The database of a simulation is nobody's file: one that is killed leaves none behind.
func TestScratchIsNoFile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	c, err := newStored(t.Context(), &grid{scenario: scenario(t, "gras.toml"), jobs: &workload{}}, scheduler.OpenScratch)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("in its directory are %v, %v", left, err)
	}
	if err := c.turns.Take(t.Context()); err != nil {
		t.Error(err)
	}
}

// A scheduler whose database is scratch, which keeps in memory what nobody else reads, decides as one
// that writes everything down, of which the same is read: where sites fail, slots are missed and jobs moved, too.
func TestScratchDecidesAsAFile(t *testing.T) {
	testbed.Computes(t)
	whole := func(ctx context.Context, path string, seal *scheduler.Seal) (*scheduler.Store, error) {
		store, err := scheduler.OpenStore("sqlite:"+path, seal)
		if err == nil {
			_, err = store.Migrate(ctx)
		}
		return store, err
	}
	for name, count := range map[string]int{"gras.toml": 60, "failures.toml": 60, "stale.toml": 40} {
		s := scenario(t, name)
		s.Jobs.Count = count
		s.Sites[0].Turns = 4
		var runs []string
		for _, db := range []opener{whole, scheduler.OpenScratch} {
			g, err := s.grid(Stored, 3)
			if err != nil {
				t.Fatal(err)
			}
			c, err := newStored(t.Context(), g, db)
			if err != nil {
				t.Fatal(err)
			}
			defer c.close()
			g.dispatch = c
			if err := g.play(t.Context()); err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(g.run)
			if err != nil {
				t.Fatal(err)
			}
			runs = append(runs, string(text))
		}
		if runs[0] != runs[1] {
			t.Errorf("%s: by a whole database\n%.600s\nby scratch\n%.600s", name, runs[0], runs[1])
		}
	}
}

// In a run nothing takes time but what its sites and its network do: the scheduler measures itself by the run's clock, so that a machine
// that is busy, or stops for a while, changes nothing.
func TestTheSchedulersStopwatchIsTheRuns(t *testing.T) {
	c := &stored{door: newDoor(&grid{scenario: scenario(t, "gras.toml"), jobs: &workload{}})}
	watch := c.config().Stopwatch
	if watch == nil {
		t.Fatal("it is the system's")
	}
	before := watch()
	if time.Sleep(time.Millisecond); !watch().Equal(before) {
		t.Error("it goes on while nothing happens")
	}
	if c.now += 60; watch().Sub(before) != time.Minute {
		t.Error("it does not go on with the run")
	}
}

// The ids that the scheduler gives decide between jobs that came at one instant: they are those of the seed.
func TestIDsAreTheSeeds(t *testing.T) {
	ids := map[uint64][]string{}
	for _, seed := range []uint64{1, 2, 1} {
		c, err := newStored(t.Context(), &grid{scenario: scenario(t, "gras.toml"), jobs: &workload{extent: extent{count: 3}}, run: Run{Seed: seed}}, scheduler.OpenScratch)
		if err != nil {
			t.Fatal(err)
		}
		defer c.close()
		var list []string
		for k := range 3 {
			taken, err := c.scheduler.Submit(t.Context(), scheduler.Person{Subject: "me"}, []scheduler.Submission{{Key: fmt.Sprint(k), JDL: "[ Executable = \"/bin/job\"; ]"}})
			if err != nil || taken[0].Error != "" {
				t.Fatal(taken, err)
			}
			list = append(list, taken[0].ID)
		}
		if before := ids[seed]; before != nil && !slices.Equal(before, list) {
			t.Errorf("seed %d gives %v and %v", seed, before, list)
		}
		ids[seed] = list
	}
	if slices.Equal(ids[1], ids[2]) || ids[1][0] == ids[1][1] {
		t.Errorf("ids of two seeds: %v", ids)
	}
}

// What became of jobs that ended more than a day ago is not kept.
func TestEndedJobsAreForgotten(t *testing.T) {
	testbed.Computes(t)
	s := scenario(t, "failures.toml")
	s.Jobs.Count, s.Jobs.Load = 30, 0.001
	g, err := s.grid(Stored, 1)
	if err != nil {
		t.Fatal(err)
	}
	c, err := newStored(t.Context(), g, scheduler.OpenScratch)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	g.dispatch = c
	if err := g.play(t.Context()); err != nil {
		t.Fatal(err)
	}
	attempts := 0
	for _, e := range c.past {
		attempts += e.tries
	}
	if c.now < 3*forgetAfter || c.run.Jobs < 25 || len(c.past) > 20 || len(c.numbers) > len(c.past) || len(c.states) > attempts || len(c.under) > len(c.past) {
		t.Errorf("after %d s, of %d jobs %d ended lately: %d and %d attempts are kept", c.now, c.run.Jobs, len(c.past), len(c.numbers), len(c.states))
	}
}

// A site that nothing has happened to since an agent looked is shown to it as it was, at the
// time of the look; one that went down, or has another job, is not. What it was shown before stays.
func TestQueueIsShownAsItIs(t *testing.T) {
	s, err := Parse("s.toml", []byte(small))
	if err != nil {
		t.Fatal(err)
	}
	c, err := newSite(&s.Sites[0], 0, &given{{submit: 2, run: 2, limit: 60, procs: 1}, {submit: 3, run: 2, limit: 60, procs: 1}})
	if err != nil {
		t.Fatal(err)
	}
	q := &queueOf{site: c}
	var before batch.State
	for at := range int64(8) {
		if at == 6 {
			err = c.fail(true, epoch.Add(6*time.Second))
		}
		if err := errors.Join(err, c.advance(at)); err != nil {
			t.Fatal(err)
		}
		held := slices.Clone(before.Jobs)
		got, err := q.Queue(t.Context())
		want, mark := c.engine.State(), got.Mark
		was := before
		if !reflect.DeepEqual(held, was.Jobs) {
			t.Errorf("at %d: the picture before, which an agent holds, has become another", at)
		}
		before = got
		was.Now, got.Mark = got.Now, 0
		if news := !reflect.DeepEqual(was.Jobs, got.Jobs) || !reflect.DeepEqual(was.Nodes, got.Nodes); at > 0 && news == (mark == was.Mark) {
			t.Errorf("at %d: there is news: %v, and the mark is %d after %d", at, news, mark, was.Mark)
		}
		if err != nil || !reflect.DeepEqual(got, want) || want.Now.Sub(epoch) != time.Duration(at)*time.Second {
			t.Errorf("at %d: %+v, %v, want %+v", at, got, err, want)
		}
	}
}

// Sites that fail, lie and swallow jobs: every job comes to one end, and those
// that failed were handed in again.
func TestWholeSchedulerInTrouble(t *testing.T) {
	testbed.Computes(t)
	s := scenario(t, "failures.toml")
	s.Seeds, s.Jobs.Count, s.Policies = 1, 150, []string{Stored}
	s.Cycle.Duration = 10 * time.Minute
	s.Failures[0].From.Duration, s.Failures[0].For.Duration = time.Hour, 4*time.Hour   // a black hole
	s.Failures[1].From.Duration, s.Failures[1].For.Duration = 8*time.Hour, 4*time.Hour // a site that goes down
	r := compare(t, s).Runs[0]
	t.Logf("%d ran, %d unplaced, %d failed, %d sent again, %d of %d bookings missed", r.Jobs, r.Unplaced, r.Failed, r.Again, r.Missed, r.Booked)
	if r.Jobs+r.Unplaced+r.Failed != 150 || r.Jobs < 140 || r.Again == 0 {
		t.Errorf("%d ran, %d unplaced, %d failed of 150, %d sent again", r.Jobs, r.Unplaced, r.Failed, r.Again)
	}
}
