package batch

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// slowRunner is a run of Slurm by nodes, from event to event: its main loop, and its passes
// of backfill by the slow pass. Jobs end when they are believed to.
type slowRunner struct {
	*slowPass
	state  State
	belief Belief
	charts bool
	ends   map[int64]int64 // by seq
	last   int64           // pass
	since  int64           // the first time that something has happened; never: nothing has
	woken  int64           // by a time, not by an end
	sorted int64
	order  []float64 // priorities as they were worked out last, by place in the state
	story  []string
	slowDoor
	slowYield
}

func newSlowRun(m *Machine, s State, b Belief) *slowRunner {
	r := &slowRunner{slowPass: newSlowPass(m), state: s, belief: b, charts: m.policy.(*slurm).charts(), ends: map[int64]int64{}, last: -never, since: -never, sorted: -never}
	r.woken, r.waiting, r.parked, r.slowDoor = m.now, nil, nil, newSlowDoor(&s)
	for i := range m.jobs {
		r.ids[m.jobs[i].seq] = int(m.jobs[i].ID)
	}
	slices.SortStableFunc(r.runs, func(a, b slowStay) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(r.ids[a.seq], r.ids[b.seq]))
	})
	r.booked = newSlowBooked(&s, r.ids)
	r.caps = &slowCaps{&s, r.ids, &r.now}
	r.slowYield = slowYield{back: map[int]int64{}, leaving: map[int64]int64{}, awaits: map[int64]int64{}, exempted: never, jobs: map[int64]job{}, again: map[int64]bool{}}
	if r.p.Preemption.Type != "" {
		r.yield = r.preempt
	}
	for i := range m.jobs {
		r.jobs[m.jobs[i].seq] = m.jobs[i]
	}
	for i := range m.jobs {
		switch j := &m.jobs[i]; {
		case j.state == running:
			r.ends[j.seq] = r.booked.until(j, j.start, b.Run(&j.Task, m.now-j.start), m.now)
		case j.state == queued || j.state == stuck:
			r.outside = append(r.outside, *j)
		}
	}
	for i := range r.outside { // as those that wait
		r.outside[i].limit = r.outside[i].rounded(&r.p.Slurm)
	}
	for i := range s.Jobs {
		r.shut[i] = r.opens(i) > s.Now.Unix()
	}
	r.prioritize()
	r.enter()
	for id := range r.lapsed {
		r.rouse(id, true)
		r.rouse(id, false)
	}
	r.since = -never
	return r
}

// priority is a job's by the documents: its partition's tier, and what Slurm says, or the
// weighted sum, with its age.
func (r *slowRunner) priority(j *Job) float64 {
	f := &r.p.Multifactor
	i := slices.IndexFunc(r.state.Queues, func(q Queue) bool { return q.Name == j.Queue })
	q := &r.state.Queues[i]
	procs := 0
	for _, n := range r.state.Nodes {
		procs += n.CPUs
	}
	since := r.eligible(j)
	age := func(at int64) float64 {
		return f.Age * float64(max(0, min(at-since, int64(f.MaxAge.Seconds())))) / f.MaxAge.Seconds()
	}
	sum := j.Priority - age(r.state.Now.Unix())
	if j.Priority == 0 {
		size := float64(j.Procs) / float64(procs)
		if f.FavorSmall {
			size = 1 - size
		}
		sum = f.FairShare*f.Shares[j.User] + f.JobSize*size + f.Partition*q.Factor + f.QOS*f.QOSFactors[j.QOS]
	}
	return float64(q.Priority)*tier + math.Floor(sum+age(r.now)+1e-4)
}

// prioritize works out the priorities of all.
func (r *slowRunner) prioritize() {
	r.order = r.order[:0]
	for i := range r.state.Jobs {
		r.order = append(r.order, r.priority(&r.state.Jobs[i]))
	}
	r.sort()
}

func (r *slowRunner) sort() {
	slices.SortFunc(r.waiting, r.before)
	slices.SortFunc(r.parked, r.before)
	r.pair()
}

// before compares jobs by their priorities as they were worked out last.
func (r *slowRunner) before(a, b job) int {
	return cmp.Or(cmp.Compare(r.order[b.ID], r.order[a.ID]), compareIDs(r.state.Jobs[a.ID].ID, r.state.Jobs[b.ID].ID))
}

// nodesOf are the nodes of a job's partition.
func (r *slowRunner) nodesOf(j *job) (nodes []int) {
	for n := range r.state.Nodes {
		if slices.Contains(r.state.Nodes[n].Queues, r.state.Jobs[j.ID].Queue) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// heads is the main loop.
func (r *slowRunner) heads() {
	r.pair()
	done, shut := map[string]bool{}, map[int]bool{}
	for i := 0; i < len(r.waiting); {
		j := &r.waiting[i]
		if r.caps.over(j, r.runs, false) {
			i++
			continue
		}
		nodes, part := r.nodesOf(j), r.state.Jobs[j.ID].Reservation
		if part == "" {
			part = fmt.Sprint(nodes)
		}
		if from, last := r.booked.may(j); done[part] || r.now < from || r.now > last {
			done[part] = true
			i++
			continue
		}
		all := r.places
		r.places = slices.DeleteFunc(slices.Clone(all), func(s slowStay) bool { return s.seq == j.seq })
		for n := range shut {
			r.places = append(r.places, slowStay{from: r.now, to: never, nodes: []share{{node: int32(n)}}})
		}
		fits := r.beside(j, r.now, j.limit) != nil
		on := r.beside(j, r.now, j.Limit)
		most := r.most(j)
		if fits && j.Most > 0 { // the main loop gives all of the limit, and knows no places
			r.places = slices.DeleteFunc(r.places, func(s slowStay) bool { return s.to < never })
			on = r.beside(j, r.now, most)
			all, fits = nil, on != nil
			r.happened()
		}
		if !fits && r.yield != nil && r.yield(j) {
			r.places = all
			r.left()
			continue
		}
		if r.places = all; fits {
			j.Limit = most
			r.begin(j, on)
			continue
		}
		named := r.state.Jobs[j.ID].Within
		done[part] = len(named) == 0
		for _, n := range nodes {
			if r.state.Jobs[j.ID].Reservation == "" && (r.charts || r.p.Builtin) && (len(named) == 0 || slices.Contains(named, r.state.Nodes[n].Name)) {
				shut[n] = true
			}
		}
		i++
	}
}

// most is the limit with which the main loop starts a job: all of it that its deadline leaves,
// in minutes.
func (r *slowRunner) most(j *job) int64 {
	by := r.state.Jobs[j.ID].Deadline
	if j.Most == 0 || by.IsZero() {
		return max(j.Limit, j.Most)
	}
	return max(j.Limit, min(j.Most, (by.Unix()-r.now)/60*60))
}

// begin starts a job that waits.
func (r *slowRunner) begin(j *job, on []share) {
	r.start(j, on)
	r.left()
}

// left takes those that have started off those that wait, and notes when they end.
func (r *slowRunner) left() {
	for i := range r.waiting {
		if j := &r.waiting[i]; slices.ContainsFunc(r.runs, func(s slowStay) bool { return s.seq == j.seq }) {
			r.ends[j.seq] = r.booked.until(j, r.now, r.belief.Run(&j.Task, 0), r.now)
			if _, again := r.began[int(j.ID)]; !again {
				r.began[int(j.ID)] = r.now
				r.rouse(int(j.ID), true)
			}
		}
	}
	gone := func(seq int64) bool { _, ok := r.ends[seq]; return ok }
	r.waiting = slices.DeleteFunc(r.waiting, func(j job) bool { return gone(j.seq) })
	r.places = slices.DeleteFunc(r.places, func(s slowStay) bool { return gone(s.seq) })
	for _, line := range r.starts {
		var seq int64
		if fmt.Sscanf(line, "start %d", &seq); !r.again[seq] {
			r.story = append(r.story, fmt.Sprint(r.now-r.state.Now.Unix(), " ", line))
		}
	}
	r.starts = nil
}

// backfill is one pass.
func (r *slowRunner) backfill() {
	if r.last, r.since = r.now, never; r.p.Multifactor.Age > 0 && r.now >= r.sorted+300 {
		r.sorted = r.now
		r.prioritize()
	}
	r.count()
	r.pair()
	before := len(r.starts)
	if r.places, r.stays = nil, nil; r.charts {
		r.charted()
		r.small, r.places = false, nil
	} else {
		r.fine()
	}
	if r.p.MaxJobStart > 0 && len(r.starts)-before >= r.p.MaxJobStart {
		r.since = -never // the next pass goes on
	}
	r.left()
}

// wake is when backfill runs next.
func (r *slowRunner) wake() int64 {
	at := never
	if r.p.Builtin || len(r.waiting) == 0 {
		return at
	}
	interval := int64(r.p.Interval.Seconds())
	if r.since < never {
		at = max(r.last+interval, r.since+1, r.now)
	}
	for _, s := range r.places {
		at = min(at, max(s.from, r.last+interval))
	}
	return at
}

// happened notes that something has.
func (r *slowRunner) happened() { r.since = min(r.since, r.now) }

// run goes from event to event up to a time: ends, then what may begin, then passes.
func (r *slowRunner) run(until int64) {
	for r.heads(); ; {
		end := -1
		for i, s := range r.runs {
			if end < 0 || r.ends[s.seq] < r.ends[r.runs[end].seq] {
				end = i
			}
		}
		more := r.caps.next(r.woken, r.runs)
		at, pass := never, min(r.wake(), r.turns(), r.booked.next(r.woken), r.yieldsNext(), more)
		if end >= 0 {
			at = r.ends[r.runs[end].seq]
		}
		if min(at, pass) >= until {
			return
		}
		if r.now = min(at, pass); at <= pass {
			r.end(end)
			r.heads()
			continue
		}
		if more == r.now {
			r.happened()
		}
		r.woken = r.now
		r.enter()
		pass = r.wake()
		r.leaves()
		if r.heads(); pass <= r.now {
			r.backfill()
		}
	}
}

// end takes a job that runs off.
func (r *slowRunner) end(i int) {
	id := r.ids[r.runs[i].seq]
	r.ended[id] = r.now
	delete(r.leaving, r.runs[i].seq)
	r.runs = slices.Delete(r.runs, i, i+1)
	r.event = r.now
	r.enter()
	r.happened()
}

// TestSlurmRun holds runs of Slurm by nodes, as far ahead as bf_window, against slow
// ones: what starts, in which order and where, by its main loop and by passes, charted
// or not, with any of its parameters, where jobs end before their limits and where not.
func TestSlurmRun(t *testing.T) {
	testbed.Computes(t)
	sum := runsCompared{}
	sum.first(t, testbed.Seeds(300, 1800))
	for _, seed := range []uint64{339, 3593, 3147, 7607, 10269, 3565, 4055} { // one that starts lets the first behind bf_max_job_test in; those that wait for one end come by priority
		sum.run(t, seed)
	}
	t.Logf("%+v", sum)
	if sum.charted < 1000 || sum.fine < 1000 {
		t.Errorf("only %+v starts compared", sum)
	}
}

// FuzzSlurmRun does so for any seed.
func FuzzSlurmRun(f *testing.F) {
	f.Add(uint64(1000))
	f.Fuzz(func(t *testing.T, seed uint64) { new(runsCompared).run(t, seed) })
}

// first compares the runs of the first seeds.
func (c *runsCompared) first(t *testing.T, seeds uint64) {
	for seed := range seeds {
		c.run(t, seed)
	}
}

// runsCompared counts starts.
type runsCompared struct {
	charted, fine int
	booked        bool // beside reservations
	gives         bool // jobs give way
	capped        bool // licences and limits are shared
	stillToRun    bool // one of the limits is on what jobs that run still have to run
	exempted      bool // some count in limits that do not bind them
	gaveWay       int
}

func (c *runsCompared) run(t *testing.T, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 71))
	s, p := slurmScene(rng, seed)
	if c.booked {
		booked(rng, &s)
	}
	if c.capped {
		capped(rng, &s)
		if c.stillToRun {
			stillToRun(&s, rng)
		}
		if c.exempted {
			exempted(&s)
		}
	}
	if prioritized(rng, &s, &p); c.gives {
		s.Queues[0].MaxRunning, s.Queues[1].MaxRunning = 0, 0
		gives(rng, &s, &p)
	}
	run := passing(t, s, p, seed)
	run.m.starts = run.m.starts[:0]
	f := Forecaster{Policy: Policy{Name: "slurm", Slurm: p}}
	cl, err := newCluster(s, f.Policy, &f.users, true)
	if err != nil {
		t.Fatal(err)
	}
	b := []Belief{Estimate{}, halves{}}[seed/5%2]
	run = cl.forward(b, nil)
	mine := run.m.policy.(*slurm)
	if c.gives {
		mine.near = never // no steps
	}
	until := s.Now.Unix() + int64(mine.Window.Seconds())
	told := *mine
	told.Preemption = p.Preemption // the slow one does not know whether anybody can give way
	run.m.policy = &told
	slow := newSlowRun(run.m, s, b)
	run.m.policy = mine
	slow.run(until)
	c.gaveWay += len(slow.again)
	var got []string
	for j, ok := run.next(); ok && j.start < until; j, ok = run.next() {
		got = append(got, fmt.Sprint(j.start-s.Now.Unix(), " start ", j.seq, j.shares))
	}
	if slow.charts {
		c.charted += len(got)
	} else {
		c.fine += len(got)
	}
	if !slices.Equal(got, slow.story) {
		t.Errorf("seed %d, charted %v, %+v: %s", seed, slow.charts, p, unlike(got, slow.story))
	}
}

// slurmScene is a crowded cluster, and parameters.
func slurmScene(rng *rand.Rand, seed uint64) (State, Slurm) {
	s := crowdedState(rng, 2+rng.IntN(9), 5+rng.IntN(40))
	if s.Reservations = nil; seed%3 == 1 {
		part(&s)
	}
	if seed%7 == 3 {
		tasks(rng, s.Jobs)
	}
	if seed%2 == 1 {
		doors(rng, &s)
	}
	p := slurmParameters(rng, s.Jobs)
	p.Recent, p.Interval, p.fine, p.Builtin = rng.IntN(2) == 0, time.Duration(1+rng.IntN(120))*time.Second, rng.IntN(2) == 0, rng.IntN(12) == 0
	return s, p
}

// prioritized gives jobs priorities, ages, nodes that they name, least limits, and times before which they may not begin.
func prioritized(rng *rand.Rand, s *State, p *Slurm) {
	p.Multifactor = []Multifactor{{}, {Age: 1000, MaxAge: 2 * time.Hour}, {JobSize: 50, FavorSmall: rng.IntN(2) == 0, FairShare: 40, QOS: 9, Partition: 5}}[rng.IntN(3)]
	p.Multifactor.Shares = map[string]float64{"u1": 0.3, "u2": 1, "u5": 0.7}
	p.Multifactor.QOSFactors = map[string]float64{"q": 1}
	s.Queues[0].Factor = float64(rng.IntN(2))
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if !j.Started.IsZero() {
			continue
		}
		if rng.IntN(12) == 0 {
			j.Within = []string{s.Nodes[rng.IntN(len(s.Nodes))].Name, s.Nodes[0].Name}
		}
		if rng.IntN(5) == 0 {
			j.Least = j.Requested * time.Duration(1+rng.IntN(4)) / 4
		}
		j.QOS = strings.Repeat("q", rng.IntN(2))
		if p.Multifactor.Age > 0 {
			j.Submitted = s.Now.Add(-time.Duration(rng.IntN(3*60)) * time.Minute)
			j.Priority = float64(1 + rng.IntN(600))
		}
		if rng.IntN(9) == 0 {
			j.Begin = s.Now.Add(time.Duration(rng.IntN(300)) * time.Minute)
		}
	}
}
