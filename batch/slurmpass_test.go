package batch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// TestSlurmPass holds passes of backfill, those with a chart and those that make places
// at each end, on a run's states one after the other, against a slow pass: what starts,
// in which order and where, and every place.
func TestSlurmPass(t *testing.T) {
	testbed.Computes(t)
	var all compared
	for seed := range uint64(240) {
		all.passes(t, seed)
	}
	t.Logf("%+v", all)
	if all.charted < 1000 || all.fine < 1000 || all.starts < 800 || all.places < 20_000 {
		t.Errorf("only %+v compared", all)
	}
}

// FuzzSlurmPass does so on states of any seed.
func FuzzSlurmPass(f *testing.F) {
	f.Add(uint64(1000))
	f.Fuzz(func(t *testing.T, seed uint64) { new(compared).passes(t, seed) })
}

// compared counts what was.
type compared struct{ charted, fine, starts, places int }

// passes compares at all of the first events of a run.
func (c *compared) passes(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 17))
	s := crowdedState(rng, 2+rng.IntN(9), 5+rng.IntN(40))
	if s.Reservations = nil; seed%3 == 1 {
		part(&s)
	}
	s.Queues[0].MaxNodes = rng.IntN(2) * (1 + rng.IntN(4))
	switch seed % 4 {
	case 2:
		arrays(rng, s.Jobs)
	case 3:
		tasks(rng, s.Jobs)
	}
	p := slurmParameters(rng, s.Jobs)
	p.Recent = seed%2 == 0
	run := passing(t, s, p, seed)
	for range 25 {
		if run.m.wait == 0 || run.clock.next() == never {
			return
		}
		c.pass(t, seed, run.m)
		run.step()
		happens(rng, run)
	}
}

// slurmParameters draws some; where priorities count jobs get some.
func slurmParameters(rng *rand.Rand, jobs []Job) Slurm {
	p := Slurm{Window: time.Duration(1+rng.IntN(30)) * time.Hour, Resolution: []time.Duration{0, time.Second, 7 * time.Minute}[rng.IntN(3)]}
	if rng.IntN(4) == 0 {
		p.WindowLinear = time.Duration(1+rng.IntN(900)) * time.Second
	}
	switch rng.IntN(10) {
	case 5:
		p.MaxJobPart, p.MaxJobUser = 1+rng.IntN(12), rng.IntN(2)*rng.IntN(4)
	case 6:
		p.MaxJobUserPart, p.MaxJobPart = 1+rng.IntN(3), rng.IntN(2)*rng.IntN(9)
	case 7:
		p.MinAgeReserve = time.Duration(1+rng.IntN(60)) * time.Second
	case 8:
		p.PartCountReserve, p.MinPrioReserve = 1+rng.IntN(6), float64(rng.IntN(3))
		for i := range jobs {
			jobs[i].Priority = float64(1 + rng.IntN(4))
		}
	case 9:
		p.MaxArrayReserve = 1 + rng.IntN(3)
	case 0:
		p.MaxJobTest = 1 + rng.IntN(20)
	case 1:
		p.MaxJobUser = 1 + rng.IntN(4)
	case 2:
		p.MaxJobStart = 1 + rng.IntN(2)
	case 3:
		p.NodeSpace, p.MaxJobUser = 1+rng.IntN(30), rng.IntN(3)
	}
	return p
}

// tasks makes some jobs that wait ask for several processors of each node.
func tasks(rng *rand.Rand, jobs []Job) {
	for i := range jobs {
		if j := &jobs[i]; j.Started.IsZero() && rng.IntN(2) == 0 {
			j.Each = 1 + rng.IntN(3)
			j.Procs = j.Each * max(1, j.Nodes, (j.Procs+j.Each-1)/j.Each)
			j.Core = []int{0, 0, 2, 3}[i%4]
		}
	}
}

// arrays makes arrays of some jobs that wait, of which so many may run at once.
func arrays(rng *rand.Rand, jobs []Job) {
	of := Job{}
	for i := range jobs {
		if !jobs[i].Started.IsZero() {
			continue
		}
		if rng.IntN(4) == 0 {
			of = jobs[i]
			of.Array, of.ArrayLimit = fmt.Sprint("array", i), rng.IntN(4)
		}
		if of.Array != "" {
			id, submitted := jobs[i].ID, jobs[i].Submitted
			jobs[i] = of
			jobs[i].ID, jobs[i].Submitted = id, submitted
		}
	}
}

// pass compares one pass of each kind.
func (c *compared) pass(t *testing.T, seed uint64, at *Machine) {
	t.Helper()
	charts := at.policy.(*slurm).charts()
	for _, charted := range []bool{true, false} {
		m := at.clone(&Machine{})
		p := m.policy.(*slurm)
		slow := newSlowPass(m)
		for _, y := range p.yards {
			ground{p, m, y}.settle()
			y.stale = true
		}
		if m.starts = m.starts[:0]; charted && !charts {
			continue
		}
		var got []string
		if charted {
			c.charted++
			slow.charted()
			p.pass(m)
			for _, s := range p.chart.places {
				got = append(got, stayed(m.now, s.from, s.to, s.nodes))
			}
		} else {
			c.fine++
			p.ration = 0
			slow.fine()
			p.pass(m)
			got = planned(p, m)
		}
		for i, id := range m.starts {
			got = slices.Insert(got, i, fmt.Sprint("start ", m.jobs[id].seq, m.jobs[id].shares))
		}
		want := append(slow.starts, slow.stays...)
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d at %d, charted %v: %s", seed, m.now, charted, unlike(got, want))
		}
		c.starts, c.places = c.starts+len(slow.starts), c.places+len(slow.stays)
	}
}

// planned are the places that jobs have in the plan, those left for later among them,
// in order.
func planned(p *slurm, m *Machine) (lines []string) {
	for _, y := range p.yards {
		ground{p, m, y}.settle()
	}
	p.queue.each(func(e *entry) {
		if j := &m.jobs[e.job]; j.planned < p.horizon(m.now) {
			lines = append(lines, stayed(m.now, j.planned, j.planned+j.limit, j.shares))
		}
	})
	return lines
}

// TestSlurmUncharted: where jobs times nodes are more than 262,144 no pass is charted, and
// they go the way that TestSlurmPass compares as fine.
func TestSlurmUncharted(t *testing.T) {
	for nodes, charts := range map[int]bool{524: true, 525: false} {
		s := crowdedState(rand.New(rand.NewPCG(5, 1)), nodes, 500)
		s.Reservations = nil
		m := passing(t, s, Slurm{}, 0).m
		if got := m.policy.(*slurm).charts(); got != charts {
			t.Errorf("%d jobs on %d nodes: charted %v", m.wait, nodes, got)
		}
	}
}
