package batch

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// slowYield is who gives way in a slow run.
type slowYield struct {
	back     map[int]int64   // when who gave way may wait again, by place in the state
	leaving  map[int64]int64 // until when who gives way still runs, by seq
	awaits   map[int64]int64 // until when others do that give way to a job
	exempted int64           // when one that is asked for is safe no more
	jobs     map[int64]job
	again    map[int64]bool // who ran and gave way
}

// stands is the rank of a job, what becomes of it, and for how long it then still runs.
func (r *slowRunner) stands(seq int64) (rank int, mode PreemptMode, grace int64) {
	j := &r.state.Jobs[r.ids[seq]]
	if r.p.Preemption.Type == "qos" {
		q := r.p.Preemption.QOS[j.QOS]
		return q.Priority, q.Mode, int64(q.GraceTime / time.Second)
	}
	q, _ := r.state.queue(j.Queue)
	return q.Priority, q.PreemptMode, int64(q.GraceTime / time.Second)
}

// yields tells whether one job gives way to another.
func (r *slowRunner) yields(seq, to int64) bool {
	rank, mode, _ := r.stands(seq)
	if mode == "" {
		return false
	}
	if r.p.Preemption.Type == "qos" {
		mine, its := r.state.Jobs[r.ids[to]].QOS, r.state.Jobs[r.ids[seq]].QOS
		return mine != its && slices.Contains(r.p.Preemption.QOS[mine].Over, its)
	}
	over, _, _ := r.stands(to)
	return over > rank
}

// pair orders those that wait, under preempt/qos, as a sort by pairs does that merges halves:
// one of whose QOS another's names gives way is behind it, others go by priority.
func (r *slowRunner) pair() {
	if r.p.Preemption.Type != "qos" {
		return
	}
	over := func(a, b job) bool {
		mine, its := r.state.Jobs[a.ID].QOS, r.state.Jobs[b.ID].QOS
		return mine != its && slices.Contains(r.p.Preemption.QOS[mine].Over, its)
	}
	var merged func(list []job) []job
	merged = func(list []job) (out []job) {
		if len(list) < 2 {
			return list
		}
		a, b := merged(list[:len(list)/2]), merged(list[len(list)/2:])
		for len(a)+len(b) > 0 {
			if len(b) == 0 || len(a) > 0 && (over(a[0], b[0]) || !over(b[0], a[0]) && r.before(a[0], b[0]) < 0) {
				out, a = append(out, a[0]), a[1:]
			} else {
				out, b = append(out, b[0]), b[1:]
			}
		}
		return out
	}
	slices.SortFunc(r.waiting, func(a, b job) int { return compareIDs(r.state.Jobs[a.ID].ID, r.state.Jobs[b.ID].ID) })
	r.waiting = merged(r.waiting)
}

// victims are those that may give way to a job, in order.
func (r *slowRunner) victims(j *job) (list []slowStay) {
	for _, v := range r.runs {
		useful := slices.ContainsFunc(v.nodes, func(s share) bool { return j.Need.serves(s.node) })
		if _, gone := r.leaving[v.seq]; gone || !useful || !r.yields(v.seq, j.seq) {
			continue
		}
		if safe := v.from + max(1, int64(r.p.Preemption.ExemptTime/time.Second)); safe > r.now {
			r.exempted = min(r.exempted, safe)
			continue
		}
		list = append(list, v)
	}
	slices.SortFunc(list, func(a, b slowStay) int {
		if r.p.Preemption.YoungestFirst {
			return cmp.Or(cmp.Compare(b.from, a.from), cmp.Compare(a.seq, b.seq))
		}
		x, _, _ := r.stands(a.seq)
		y, _, _ := r.stands(b.seq)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(len(a.nodes), len(b.nodes)), cmp.Compare(a.seq, b.seq))
	})
	return list
}

// without takes jobs off until another fits, and tells which and where; nil: it never does.
func (r *slowRunner) without(j *job, list []slowStay) (out []slowStay, on []share) {
	all := r.runs
	for _, v := range list {
		r.runs = slices.DeleteFunc(slices.Clone(r.runs), func(s slowStay) bool { return s.seq == v.seq })
		out = append(out, v)
		if on = r.beside(j, r.now, j.limit); on != nil {
			break
		}
	}
	r.runs = all
	return out, on
}

// preempt starts a job, which does not fit, in place of others that give way to it.
func (r *slowRunner) preempt(j *job) bool {
	if until, ok := r.awaits[j.seq]; ok && until >= r.now {
		return false
	}
	list := r.victims(j)
	out, on := r.without(j, list)
	if on == nil {
		return false
	}
	has := func(v slowStay) (n int) {
		for _, s := range on {
			if slices.ContainsFunc(v.nodes, func(o share) bool { return o.node == s.node }) {
				n++
			}
		}
		return n
	}
	last := out[len(out)-1]
	rest := slices.Clone(list[len(out):])
	first := slices.Clone(out[:len(out)-1])
	slices.SortStableFunc(first, func(a, b slowStay) int { return cmp.Compare(has(b), has(a)) })
	if out, on = r.without(j, append(append([]slowStay{last}, first...), rest...)); on == nil {
		return false
	}
	later := int64(0)
	for _, v := range out {
		if _, _, grace := r.stands(v.seq); has(v) == 0 {
			continue
		} else if grace == 0 {
			r.evict(v.seq)
		} else {
			later = max(later, r.leave(v.seq, grace))
		}
	}
	if later > 0 {
		r.awaits[j.seq] = later
		return false
	}
	r.start(j, on)
	return true
}

// leave lets a job run for its grace, and tells until when.
func (r *slowRunner) leave(seq, grace int64) int64 {
	i := slices.IndexFunc(r.runs, func(s slowStay) bool { return s.seq == seq })
	r.runs[i].to = min(r.runs[i].to, r.now+grace)
	r.leaving[seq] = r.runs[i].to
	return r.runs[i].to
}

// evict takes a job that runs off.
func (r *slowRunner) evict(seq int64) {
	r.runs = slices.DeleteFunc(r.runs, func(s slowStay) bool { return s.seq == seq })
	r.exempted = min(r.exempted, r.now+1)
	id := r.ids[seq]
	delete(r.leaving, seq)
	if _, mode, _ := r.stands(seq); mode == PreemptCancel {
		r.lapsed[id] = r.now // nobody need wait for more than its end
		r.rouse(id, false)
		return
	}
	delete(r.ends, seq)
	r.again[seq] = true
	r.back[id] = r.now + 121
	r.outside = append(r.outside, r.jobs[seq])
}

// leaves lets those go whose grace is over, and forgets of whom it was known that they are safe.
func (r *slowRunner) leaves() {
	any := false
	for _, s := range slices.Clone(r.runs) {
		if until, ok := r.leaving[s.seq]; ok && until <= r.now {
			r.evict(s.seq)
			r.happened()
			any = true
		}
	}
	for _, j := range slices.Clone(r.waiting) {
		if any && r.awaits[j.seq] == r.now {
			r.claim(&j)
		}
	}
	if r.exempted <= r.now {
		r.exempted = never
		r.happened()
	}
}

// claim starts a job for which others have just left, beside the places of the others.
func (r *slowRunner) claim(j *job) {
	all := r.places
	r.places = slices.DeleteFunc(slices.Clone(all), func(s slowStay) bool { return s.seq == j.seq })
	if r.beside(j, r.now, j.limit) != nil {
		r.start(j, r.beside(j, r.now, j.Limit))
	}
	r.places = all
	r.left()
}

// yieldsNext is when that is to be.
func (r *slowRunner) yieldsNext() int64 {
	at := never
	if len(r.waiting) > 0 {
		at = r.exempted
	}
	for _, until := range r.leaving {
		at = min(at, until)
	}
	return at
}

// gives makes jobs give way: by partition or by QOS, to be requeued or cancelled, with grace or
// none, some safe for a time.
func gives(rng *rand.Rand, s *State, p *Slurm) {
	for i := range s.Jobs {
		s.Jobs[i].Core = 0 // whole cores beside preemption are not compared: in one run of some hundred two starts of one second differ in order
	}
	grace := func() time.Duration { return time.Duration(rng.IntN(2)*rng.IntN(300)) * time.Second }
	mode := func() PreemptMode {
		return []PreemptMode{PreemptRequeue, PreemptCancel, "", PreemptRequeue}[rng.IntN(4)]
	}
	p.Preemption = Preemption{Type: "partition_prio", ExemptTime: time.Duration(rng.IntN(2)*rng.IntN(3000)) * time.Second, YoungestFirst: rng.IntN(3) == 0}
	s.Queues = []Queue{{Name: "a", PreemptMode: mode(), GraceTime: grace()}, {Name: "b", Priority: 1}}
	p.Multifactor.Age = 0
	if rng.IntN(2) == 0 {
		p.Preemption.Type = "qos"
		s.Queues[1].Priority = rng.IntN(2)
		p.Preemption.QOS = map[string]PreemptQOS{
			"": {Priority: rng.IntN(3), Mode: mode(), GraceTime: grace()}, "q": {Priority: rng.IntN(3), Over: []string{""}, Mode: mode(), GraceTime: grace()},
			"r": {Priority: rng.IntN(3), Over: [][]string{{"q", ""}, {""}, {"q"}}[rng.IntN(3)]},
		}
	}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		j.Least, j.Array, j.ArrayLimit = 0, "", 0
		for k := range j.After {
			j.After[k].Delay = 0 // of one that starts twice
		}
		if j.QOS = []string{"", "q", "r"}[rng.IntN(3)]; !j.Started.IsZero() && rng.IntN(3) > 0 {
			j.QOS, j.Queue = "", "a"
		}
	}
}

// TestSlurmGivesWayRun holds runs of Slurm by nodes in which jobs give way, by partition and by
// QOS, against slow ones.
func TestSlurmGivesWayRun(t *testing.T) {
	testbed.Computes(t)
	sum := runsCompared{gives: true}
	sum.first(t, testbed.Seeds(300, 1800))
	for _, seed := range []uint64{9391, 11617, 20409, 20715, 25259, 27123, 27789, 28545, 31367} { // jobs wait for others that start, are cancelled, or start once more
		sum.run(t, seed)
	}
	t.Logf("%+v", sum)
	if sum.fine < 2000 || sum.gaveWay < 300 {
		t.Errorf("only %+v starts compared", sum)
	}
}

// TestSlurmGivesWayEnds: forecasts end and have each waiting job once, also where those who gave
// way are ahead of those whom they gave way to, and where more runs on nodes than they hold.
func TestSlurmGivesWayEnds(t *testing.T) {
	testbed.Computes(t)
	seeds := []uint64{487, 1650, 2866, 3401, 3708, 3881} // in which jobs would give way in turn for ever
	for seed := range uint64(150) {
		seeds = append(seeds, seed)
	}
	for _, seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 71))
		s, p := slurmScene(rng, seed)
		prioritized(rng, &s, &p)
		s.Queues[0].MaxRunning, s.Queues[1].MaxRunning = 0, 0
		gives(rng, &s, &p)
		for _, b := range []Belief{Estimate{}, halves{}} {
			f := Forecaster{Policy: Policy{Name: "slurm", Slurm: p}, Belief: b}
			out, err := f.Forecast(s)
			if err != nil {
				t.Fatal(err)
			}
			told := map[string]int{}
			for _, e := range out.Jobs {
				told[e.ID]++
			}
			for _, r := range out.Refused {
				told[r.ID]++
			}
			for i := range s.Jobs {
				if j := &s.Jobs[i]; j.Started.IsZero() && told[j.ID] != 1 {
					t.Errorf("seed %d, %T: job %s is told of %d times", seed, b, j.ID, told[j.ID])
				}
			}
		}
	}
}

// TestSlurmGivesWayCancels: who waits for the end of a job that gives way for good comes then, who waits for its success never does.
func TestSlurmGivesWayCancels(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	s := State{Now: now, Nodes: []Node{{Name: "n", CPUs: 1, Up: true}}, Queues: []Queue{{Name: "low", PreemptMode: PreemptCancel}, {Name: "high", Priority: 1}}, Jobs: []Job{
		{ID: "1", Queue: "low", Procs: 1, Started: now.Add(-time.Hour), Requested: 9 * time.Hour, Placed: []Placement{{"n", 1}}}, {ID: "2", Queue: "high", Procs: 1, Submitted: now, Requested: time.Hour},
		{ID: "3", Queue: "low", Procs: 1, Submitted: now, Requested: time.Hour, After: []Dependency{{ID: "1", On: OnSuccess}}},
		{ID: "4", Queue: "low", Procs: 1, Submitted: now, Requested: time.Hour, After: []Dependency{{ID: "1", On: OnEnd}}},
	}}
	f := Forecaster{Policy: Policy{Name: "slurm", Slurm: Slurm{Preemption: Preemption{Type: "partition_prio"}}}}
	out, err := f.Forecast(s)
	if err != nil || len(out.Jobs) != 2 || out.Jobs[0].ID != "2" || out.Jobs[1].ID != "4" || out.Jobs[1].Start.Sub(now) != time.Hour || len(out.Refused) != 1 || out.Refused[0].ID != "3" {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestSlurmGivesWayNeeded: a forecast reckons with jobs that give way where one that waits might have them do so, and
// where nobody might it is made as fast as without.
func TestSlurmGivesWayNeeded(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for _, c := range []struct {
		name          string
		runs, waits   []string // partitions of jobs
		needed, ended bool
	}{
		{"all of one tier", []string{"low"}, []string{"low"}, false, false},
		{"the higher runs", []string{"high"}, []string{"low"}, false, false},
		{"the higher waits", []string{"low"}, []string{"high"}, true, false},
		{"and both do", []string{"high"}, []string{"low", "high"}, true, false},
		{"the lower has ended", []string{"low", "high"}, []string{"high"}, false, true},
		{"nobody gives way to it", []string{"firm"}, []string{"high"}, false, false},
	} {
		s := State{Now: now, Nodes: []Node{{Name: "n", CPUs: 4, Up: true}},
			Queues: []Queue{{Name: "low", Priority: 1, PreemptMode: PreemptRequeue}, {Name: "high", Priority: 2, PreemptMode: PreemptRequeue}, {Name: "firm", Priority: 1}}}
		for i, queue := range c.runs {
			s.Jobs = append(s.Jobs, Job{ID: fmt.Sprint(1 + i), Queue: queue, Procs: 1, Started: now, Requested: time.Hour, Placed: []Placement{{"n", 1}}})
		}
		for i, queue := range c.waits {
			s.Jobs = append(s.Jobs, Job{ID: fmt.Sprint(11 + i), Queue: queue, Procs: 4, Submitted: now, Requested: time.Hour})
		}
		f := Forecaster{Policy: Policy{Name: "slurm", Slurm: Slurm{Preemption: Preemption{Type: "partition_prio"}}}}
		live, err := f.Live(s)
		if err == nil && c.ended {
			err = live.End("1", now)
		}
		if err != nil {
			t.Fatal(err)
		}
		run := live.c.forward(Estimate{}, nil)
		if got := run.m.policy.(*slurm).Preemption.Type != ""; got != c.needed {
			t.Errorf("%s: needed %v", c.name, got)
		}
	}
}
