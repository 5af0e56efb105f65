package batch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// TestSlurmAnew compares, event by event, what starts and the places of all jobs
// with those of a machine that makes all places anew in every pass: with more than
// 64 jobs tried, on unlike nodes, where jobs end when they are to or early, come
// and are cancelled, as far ahead as bf_window.
func TestSlurmAnew(t *testing.T) {
	testbed.Computes(t)
	c := comparedAnew{}
	for seed := range uint64(25) {
		c.run(t, seed, false)
	}
	if c.passes < 1000 || c.starts < 2000 || c.left < 1000 || c.parted < 1000 {
		t.Errorf("only %+v compared", c)
	}
}

// TestSlurmCapsAnew does so where jobs share licences and limits.
func TestSlurmCapsAnew(t *testing.T) {
	testbed.Computes(t)
	c := comparedAnew{}
	for _, seed := range []uint64{0, 4, 116, 251, 451, 600, 1084} {
		c.run(t, seed, true)
	}
	if c.passes < 100 || c.starts < 500 || c.left < 500 {
		t.Errorf("only %+v compared", c)
	}
}

// comparedAnew counts passes with more than 64 jobs tried, starts, events, and of these how often places were left for
// later, and how often there were several yards.
type comparedAnew struct{ passes, starts, steps, left, parted int }

// run compares a run of one seed.
func (c *comparedAnew) run(t *testing.T, seed uint64, shared bool) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 7))
	s := crowdedState(rng, 12+rng.IntN(20), 130+rng.IntN(80))
	p := anewScene(rng, seed, &s)
	if shared {
		capped(rng, &s)
	}
	quick, anew := passing(t, s, p, seed), passing(t, s, p, seed)
	anew.m.plain = true
	for until, at := s.Now.Add(p.Window).Unix(), int64(0); quick.clock.next() < until; {
		for _, y := range anew.m.policy.(*slurm).yards {
			y.stale = true
		}
		for quick.clock.next() < anew.clock.next() { // only to look
			if quick.step(); len(quick.m.starts) > 0 {
				t.Fatalf("seed %d, after %d s: a start where nothing happens", seed, quick.m.now-s.Now.Unix())
			}
		}
		quick.step()
		anew.step()
		happens(rng, quick, anew)
		c.compare(t, seed, quick, anew)
		if last := quick.m.policy.(*slurm).last; last > at && len(tried(anew)) > 64 {
			c.passes, at = c.passes+1, last
		}
	}
}

// anewScene makes the cluster of a run another one, and parameters.
func anewScene(rng *rand.Rand, seed uint64, s *State) Slurm {
	if seed%2 == 1 {
		part(s)
	}
	if seed%3 == 2 {
		tasks(rng, s.Jobs)
	}
	p := Slurm{Window: 24 * time.Hour, fine: true}
	switch seed % 5 {
	case 1:
		p.MaxJobTest, p.Window = 80, 3*time.Hour
	case 2:
		p.MaxJobUser = 12
	case 3:
		aging(rng, s, &p)
	case 4:
		p.Interval, p.Resolution, p.Window = time.Duration(1+rng.IntN(900))*time.Second, time.Second, 200*time.Hour
	}
	return p
}

// compare compares what has just started and who has places.
func (c *comparedAnew) compare(t *testing.T, seed uint64, quick, anew *forward) {
	t.Helper()
	p := quick.m.policy.(*slurm)
	if c.steps++; c.steps%40 == 0 { // else what it left for later is not looked at
		for _, y := range p.yards {
			ground{p, quick.m, y}.settle()
		}
	}
	pending := p.soonest() < never
	if len(p.yards) > 1 {
		c.parted++
	}
	if pending {
		c.left++
	}
	got, want := placed(quick, nil), placed(anew, tried(quick))
	if !pending {
		want = placed(anew, nil)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("seed %d at %d: %s", seed, quick.m.now, unlike(got, want))
	}
	c.starts += len(quick.started)
}

// part gives every node to one queue alone.
func part(s *State) {
	for i := range s.Nodes {
		n := &s.Nodes[i]
		n.Queues = n.Queues[:1]
	}
}

// aging makes the order of jobs change as time goes by; some may not begin yet, or
// are of an array of which not all are given places.
func aging(rng *rand.Rand, s *State, p *Slurm) {
	p.Multifactor = Multifactor{Age: 1000, MaxAge: 2 * time.Hour}
	for i := range s.Jobs {
		if j := &s.Jobs[i]; j.Started.IsZero() {
			j.Submitted = s.Now.Add(-time.Duration(rng.IntN(3*60)) * time.Minute)
			j.Priority = p.Multifactor.age(j.Submitted.Unix(), s.Now.Unix()) + float64(rng.IntN(600))
			switch rng.IntN(8) {
			case 0:
				j.Begin = s.Now.Add(time.Duration(rng.IntN(600)) * time.Minute)
			case 1:
				j.Array = "a"
			}
		}
	}
}

// passing begins a run of a cluster.
func passing(t *testing.T, s State, p Slurm, seed uint64) *forward {
	t.Helper()
	f := Forecaster{Policy: Policy{Name: "slurm", Slurm: p}, Belief: []Belief{Estimate{}, halves{}}[seed/5%2]}
	c, err := newCluster(s, f.Policy, &f.users, true)
	if err != nil {
		t.Fatal(err)
	}
	run := c.forward(f.belief(), nil)
	run.m.policy.decide(run.m)
	return run
}

// happens lets the same happen to two runs, now and then: a job comes, at the end or
// ahead of others, or is cancelled.
func happens(rng *rand.Rand, runs ...*forward) {
	what, which := rng.IntN(60), rng.Int()
	for _, r := range runs {
		var waiting []int32
		for id := range r.m.jobs {
			if j := &r.m.jobs[id]; j.state == queued && j.gates == 0 {
				waiting = append(waiting, int32(id))
			}
		}
		switch {
		case len(waiting) == 0:
		case what == 0:
			r.m.cancel(r.m.now, waiting[which%len(waiting)])
		case what < 3:
			task := r.m.jobs[waiting[which%len(waiting)]].Task
			task.ID, task.Submit = int64(len(r.m.jobs)), r.m.now
			if what == 2 {
				task.Priority += 1000 // ahead of others
			}
			r.m.submit(r.m.now, task)
		}
		r.collect()
	}
}

// tried are the jobs that have been tried, by number.
func tried(r *forward) map[int64]bool {
	list := map[int64]bool{}
	for _, y := range r.m.policy.(*slurm).yards {
		for _, id := range y.held {
			list[r.m.jobs[id].seq] = true
		}
	}
	return list
}

// placed is what has just started and, of some jobs or all, who has been tried with the
// place, line by line in their order.
func placed(r *forward, of map[int64]bool) (lines []string) {
	for _, id := range r.started {
		j := &r.m.jobs[id]
		lines = append(lines, fmt.Sprint("start ", j.ID, j.start, j.shares))
	}
	r.m.policy.(*slurm).queue.each(func(e *entry) {
		j := &r.m.jobs[e.job]
		if !slices.Contains(r.m.policy.(*slurm).yards[j.yard].held, e.job) || of != nil && !of[j.seq] {
			return
		}
		lines = append(lines, fmt.Sprint(j.ID, j.planned, j.shares))
	})
	return lines
}

// unlike is the first line that is another.
func unlike(got, want []string) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("line %d of %d is %s, want %s", i, len(got), got[i], want[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(got), len(want))
}
