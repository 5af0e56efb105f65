package batch_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gridbroker/batch"
	"gridbroker/testdata/testbed"
)

// never is later than anything happens.
const never = int64(1) << 60

// slowMaui is Maui's iteration on slow nodes with all of its parameters but GREEDY:
// jobs end when they are believed to, priorities are worked out anew in each iteration.
type slowMaui struct {
	slowNodes
	runs  batch.Belief
	ends  map[string]int64 // of the jobs that run
	begun map[string]int   // the same, in the order in which they started
	kept  map[string]bool  // jobs that once held a reservation
	stale bool             // something has happened by which reservations could be others
}

// depth is how many jobs of a line may have reservations.
func (s *slowMaui) depth() int {
	switch p := s.policy.Maui; {
	case p.ReservationPolicy == "NEVER":
		return 0
	case p.ReservationDepth == batch.Unlimited:
		return unlimitedDepth
	default:
		return max(1, p.ReservationDepth)
	}
}

// priority is a job's, by the guide's formula.
func (s *slowMaui) priority(j batch.Job) float64 {
	w := s.policy.Maui.Weights
	wait, limit := float64(s.now-j.Submitted.Unix()), j.Requested.Seconds()
	minutes, x := wait/60, 1+wait/max(limit, float64(w.XFMinLimit))
	if w.QueueTimeCap > 0 {
		minutes = min(minutes, w.QueueTimeCap)
	}
	if w.XFactorCap > 0 {
		x = min(x, w.XFactorCap)
	}
	return j.Priority + w.QueueTime*minutes + w.XFactor*x + w.Procs*float64(j.Procs) + w.PS*float64(j.Procs)*limit
}

// sort orders those that wait: by their queue's priority, their own, and submission.
func (s *slowMaui) sort() {
	queue := func(j batch.Job) int {
		i := slices.IndexFunc(s.state.Queues, func(q batch.Queue) bool { return q.Name == j.Queue })
		if i < 0 {
			return 0
		}
		return s.state.Queues[i].Priority
	}
	slices.SortStableFunc(s.waiting, func(a, b batch.Job) int { return a.Submitted.Compare(b.Submitted) })
	slices.SortStableFunc(s.waiting, func(a, b batch.Job) int {
		return cmp.Or(cmp.Compare(queue(b), queue(a)), cmp.Compare(s.priority(b), s.priority(a)))
	})
}

// begin starts a job.
func (s *slowMaui) begin(j batch.Job, on map[string]int) {
	same := func(o batch.Job) bool { return o.ID == j.ID }
	t := batch.Task{ID: int64(slices.IndexFunc(s.state.Jobs, same)), Limit: s.limit(j)}
	s.ends[j.ID], s.begun[j.ID] = s.now+s.runs.Run(&t, 0), len(s.begun)
	s.start(slices.IndexFunc(s.waiting, same), on)
}

// pass is one iteration. Reservations stay on their nodes as long as nothing can bring
// them forward: where every job has one those that are due start there.
func (s *slowMaui) pass() {
	s.sort()
	due := slices.ContainsFunc(s.places, func(h slowHeld) bool { return h.from <= s.now })
	switch w := s.policy.Maui.Weights; {
	case s.stale, len(s.places) == 0, due && s.depth() < unlimitedDepth, w.XFactor != 0, w.QueueTime != 0 && w.QueueTimeCap > 0:
		s.walk()
	default:
		s.punctual()
	}
	if s.policy.Maui.Backfill != "NONE" {
		s.choose()
	}
}

// punctual starts what is due where its place is.
func (s *slowMaui) punctual() {
	for _, j := range slices.Clone(s.waiting) {
		if k := slices.IndexFunc(s.places, func(h slowHeld) bool { return h.job.ID == j.ID && h.from <= s.now }); k >= 0 {
			on := s.places[k].on
			s.places = slices.Delete(s.places, k, k+1)
			s.begin(j, on)
		}
	}
}

// walk starts the first jobs while they fit and gives the first that do not
// reservations, line by line. A start behind a reservation counts as one, and lets the
// next iteration make all anew.
func (s *slowMaui) walk() {
	s.places, s.stale = nil, false
	given, most := map[string]int{}, max(1, s.depth())
	for _, j := range slices.Clone(s.waiting) {
		line := s.line(j)
		if given[line] >= most && !s.kept[j.ID] {
			continue
		}
		at, on := s.earliest(j)
		switch {
		case at == s.now:
			if s.begin(j, on); given[line] > 0 {
				given[line]++
				s.stale = s.depth() < unlimitedDepth
			}
		case at > s.now:
			if s.depth() > 0 {
				s.places = append(s.places, slowHeld{job: j, from: at, to: at + s.limit(j), on: on})
				s.kept[j.ID] = s.policy.Maui.ReservationPolicy == "HIGHEST"
			}
			given[line]++
		}
	}
}

// choose starts jobs beside the reservations.
func (s *slowMaui) choose() {
	p, tried := s.policy.Maui, map[string]bool{}
	if p.Backfill != "BESTFIT" {
		for _, j := range s.beside() {
			s.fill(j)
		}
		return
	}
	for {
		var best *batch.Job
		for _, j := range s.beside() {
			if !tried[j.ID] && s.fit(j, s.now) != nil && (best == nil || worth(p.Metric, j) > worth(p.Metric, *best)) {
				best = &j
			}
		}
		if best == nil {
			return
		}
		tried[best.ID] = true
		s.fill(*best)
	}
}

// beside are the first jobs of those that have no reservations.
func (s *slowMaui) beside() (list []batch.Job) {
	for _, j := range s.waiting {
		held := slices.ContainsFunc(s.places, func(h slowHeld) bool { return h.job.ID == j.ID })
		if n := s.policy.Maui.BackfillDepth; !held && (n == 0 || len(list) < n) {
			list = append(list, j)
		}
	}
	return list
}

// fill starts a job that fits now.
func (s *slowMaui) fill(j batch.Job) {
	if on := s.fit(j, s.now); on != nil {
		s.begin(j, on)
	}
}

// run goes from event to event. Who would not fit the empty nodes is not there.
func (s *slowMaui) run() {
	s.waiting = slices.DeleteFunc(s.waiting, func(j batch.Job) bool { return s.fit(j, never) == nil })
	s.reserve()
	var edges []int64 // something may begin when a reservation begins or ends
	for _, h := range s.slowNodes.kept {
		edges = append(edges, h.from, h.to)
	}
	slices.Sort(edges)
	edges = append(slices.DeleteFunc(slices.Compact(edges), func(at int64) bool { return at <= s.now }), never)
	for s.pass(); ; s.pass() {
		next, at := -1, edges[0]
		for i, h := range s.running {
			end := s.ends[h.job.ID]
			if end < at || end == at && (next < 0 || s.begun[h.job.ID] < s.begun[s.running[next].job.ID]) {
				next, at = i, end
			}
		}
		switch s.now = at; {
		case at == never:
			return
		case next < 0:
			s.stale, edges = true, edges[1:]
		default:
			s.stale = s.stale || at < s.running[next].to
			s.running = slices.Delete(s.running, next, next+1)
		}
	}
}

// mauiScene is a scene with priorities and, by its seed, running jobs, reservations, jobs
// of tasks and named nodes.
func mauiScene(seed uint64) batch.State {
	s := denseScene(seed)
	rng := rand.New(rand.NewPCG(seed, 61))
	for i := range s.Jobs {
		s.Jobs[i].ID = fmt.Sprint(i)
		s.Jobs[i].Priority = float64(rng.IntN(3) * rng.IntN(2))
	}
	s.Queues[1].Priority = rng.IntN(2)
	switch {
	case seed%8 == 6:
		pooled(rng, &s)
	case seed%3 == 1:
		name(rng, &s)
	}
	if seed%2 == 0 {
		return s
	}
	for i := range 1 + rng.IntN(3) {
		r := reservation(rng, s, i)
		r.ByName, r.Users, r.Procs, r.Each = true, nil, 0, rng.IntN(3)
		if len(r.Nodes) == 0 {
			r.Nodes = []string{s.Nodes[0].Name}
		}
		if r.End.After(s.Now) {
			s.Reservations = append(s.Reservations, r)
		}
	}
	return s
}

// pooled makes a pool of the nodes, of jobs that ask for processors alone.
func pooled(rng *rand.Rand, s *batch.State) {
	s.Nodes = []batch.Node{{Name: "n", CPUs: 2 + rng.IntN(10), Up: true}}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		s.Jobs[i] = batch.Job{ID: j.ID, Queue: j.Queue, Procs: j.Procs, Requested: j.Requested, Submitted: j.Submitted, Priority: j.Priority}
	}
}

// mauiPolicy draws parameters, of weights such that rounding makes no equal priorities unlike.
func mauiPolicy(rng *rand.Rand) batch.Policy {
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	p := batch.Maui{
		Backfill: pick("", "BESTFIT", "BESTFIT", "NONE"), Metric: pick("PROCS", "SECONDS", "PROCSECONDS"),
		ReservationPolicy: pick("", "", "HIGHEST", "NEVER"), ReservationDepth: []int{0, 2, 5, 12, batch.Unlimited}[rng.IntN(5)],
	}
	if rng.IntN(3) == 0 {
		p.BackfillDepth = 1 + rng.IntN(8)
	}
	w := func() float64 { return float64(rng.IntN(2) * rng.IntN(20)) }
	if rng.IntN(2) == 0 {
		p.Weights = batch.Weights{QueueTime: w(), QueueTimeCap: w() * 5, XFactor: w(), XFactorCap: w() / 4, Procs: w(), PS: w() / 1024, XFMinLimit: int64(rng.IntN(7200))}
		if p.Weights.QueueTimeCap == 0 {
			p.Weights.QueueTime *= 1 + rng.Float64()
		}
	}
	return batch.Policy{Name: "maui", Maui: p}
}

// TestMauiNodeOracle compares starts and nodes under Maui with those of the slow
// scheduler, with random parameters, where jobs end before their limits and where they do not.
func TestMauiNodeOracle(t *testing.T) {
	testbed.Computes(t)
	started, seeds := 0, testbed.Seeds(400, 1000)
	for seed := range seeds {
		started += mauiCompared(t, seed)
	}
	if started < int(seeds)*10 {
		t.Errorf("only %d starts compared", started)
	}
}

// mauiCompared compares one scene.
func mauiCompared(t *testing.T, seed uint64) (started int) {
	t.Helper()
	s, p := mauiScene(seed), mauiPolicy(rand.New(rand.NewPCG(seed, 67)))
	for _, b := range []batch.Belief{batch.Estimate{}, thirds{}} {
		slow := slowMaui{slowNodes{state: s, policy: p, now: s.Now.Unix(), waiting: slices.Clone(s.Jobs)}, b, map[string]int64{}, map[string]int{}, map[string]bool{}, false}
		slow.run()
		f := batch.Forecaster{Policy: p, Belief: b}
		got, err := batch.Placed(&f, s)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(slow.starts)
		started += len(got)
		if len(s.Nodes) == 1 { // a pool, of which only the times are known
			got, slow.starts = times(got), times(slow.starts)
		}
		if !slices.Equal(got, slow.starts) {
			t.Errorf("seed %d, %T, %+v:\n%v\nwant\n%v", seed, b, p.Maui, got, slow.starts)
			return started
		}
	}
	return started
}

// FuzzMaui does so for any seed.
func FuzzMaui(f *testing.F) {
	f.Add(uint64(5000))
	f.Fuzz(func(t *testing.T, seed uint64) { mauiCompared(t, seed) })
}
