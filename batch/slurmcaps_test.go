package batch

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// slowCaps counts, for each question, what all have that run.
type slowCaps struct {
	state *State
	ids   map[int64]int // place in the state by seq
	now   *int64
}

// over tells whether a job would have more of something than is left; early: of what keeps places in the future from jobs, too.
func (c *slowCaps) over(j *job, runs []slowStay, early bool) bool {
	return c != nil && c.beyond(c.state.Jobs[j.ID].Takes, runs, early, *c.now)
}

// beyond does so at a time. Of what jobs run off only what they had run off when it was counted last is back.
func (c *slowCaps) beyond(takes []Take, runs []slowStay, early bool, now int64) bool {
	has, most := map[string]int{}, map[string]int{}
	for _, r := range runs {
		j := &c.state.Jobs[c.ids[r.seq]]
		start := r.from
		if start <= c.state.Now.Unix() && !j.Started.IsZero() {
			start = j.Started.Unix()
		}
		for _, t := range j.Takes {
			if has[t.Cap] += t.Amount; c.every() > 0 {
				has[t.Cap] -= t.Rate * int(max(0, now-c.sinceCounted(now)-start))
			}
		}
	}
	for _, limit := range c.state.Caps {
		if most[limit.Name] = limit.Most; early && limit.Planned {
			most[limit.Name] = 1 << 30
		}
		for _, l := range limit.Later {
			if l.At.Unix() <= now {
				most[limit.Name] += l.Amount
			}
		}
	}
	for _, t := range takes {
		if !t.Free && has[t.Cap]+t.Amount > most[t.Cap] {
			return true
		}
	}
	return false
}

// every is how often it is counted; sinceCounted how long ago that was.
func (c *slowCaps) every() int64 { return int64(c.state.Caps[0].Every / time.Second) }

func (c *slowCaps) sinceCounted(now int64) int64 {
	return ((now-c.state.Caps[0].Since.Unix())%c.every() + c.every()) % c.every()
}

// counts is when, after a time, counting lets a kind of jobs start.
func (c *slowCaps) counts(after int64, runs []slowStay) int64 {
	if len(c.state.Caps) == 0 || c.every() == 0 {
		return never
	}
	first := after - c.sinceCounted(after) + c.every()
	at := first + 300*c.every()
	none := at
	for _, i := range c.ids { // the others are refused
		takes := c.state.Jobs[i].Takes
		if !c.beyond(takes, runs, false, after) {
			continue
		}
		for ; first < at && !c.beyond(takes, runs, false, at-c.every()); at -= c.every() {
		}
	}
	if at == none {
		return never
	}
	return at
}

// next is when there is more of something, after a time.
func (c *slowCaps) next(after int64, runs []slowStay) int64 {
	at := c.counts(max(after, *c.now), runs)
	for _, limit := range c.state.Caps {
		for _, l := range limit.Later {
			if l.At.Unix() > after {
				at = min(at, l.At.Unix())
			}
		}
	}
	return at
}

// capped lets jobs share licences, and limits of how many run and of their processors.
func capped(rng *rand.Rand, s *State) {
	for k := range 1 + rng.IntN(3) {
		c := Cap{Name: fmt.Sprint("cap", k), Most: 3 + rng.IntN(9), Planned: rng.IntN(2) == 0}
		if rng.IntN(3) == 0 {
			c.Later = []More{{s.Now.Add(time.Duration(1+rng.IntN(400)) * time.Minute), 1 + rng.IntN(4)}}
		}
		s.Caps = append(s.Caps, c)
		for i := range s.Jobs {
			if rng.IntN(3) == 0 {
				s.Jobs[i].Takes = append(s.Jobs[i].Takes, Take{Cap: c.Name, Amount: 1 + rng.IntN(c.Most)})
			}
		}
	}
}

// stillToRun has what jobs that run still have to run counted in the last of the limits.
func stillToRun(s *State, rng *rand.Rand) {
	for i := range s.Caps {
		s.Caps[i].Every, s.Caps[i].Since = time.Duration(1+rng.IntN(900))*time.Second, s.Now.Add(-time.Duration(rng.IntN(5000))*time.Second)
		if i > 0 {
			s.Caps[i].Every, s.Caps[i].Since = s.Caps[0].Every, s.Caps[0].Since
		}
	}
	last := s.Caps[len(s.Caps)-1].Name
	scale := 1 + rng.IntN(3000)
	for i := range s.Caps {
		if s.Caps[i].Name == last {
			s.Caps[i].Most *= scale
			for k := range s.Caps[i].Later {
				s.Caps[i].Later[k].Amount *= scale
			}
		}
	}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		for k := range j.Takes {
			if t := &j.Takes[k]; t.Cap == last {
				t.Amount *= scale
				t.Rate = t.Amount / max(1, int(j.Requested.Seconds()))
			}
		}
	}
}

// exempted lets some that take of a limit be free of it.
func exempted(s *State) {
	for i := range s.Jobs {
		for k := range s.Jobs[i].Takes {
			s.Jobs[i].Takes[k].Free = (i+k)%3 == 0
		}
	}
}

// TestSlurmCapsFree: the same where some jobs count in a limit that does not bind them.
func TestSlurmCapsFree(t *testing.T) {
	testbed.Computes(t)
	now := time.Unix(1_700_000_000, 0).UTC()
	f := Forecaster{Policy: Policy{Name: "slurm"}}
	out, err := f.Forecast(State{Now: now, Nodes: []Node{{Name: "n", CPUs: 1, Up: true}}, Caps: []Cap{{Name: "l", Most: 2}},
		Jobs: []Job{{ID: "a", Procs: 1, Requested: time.Hour, Submitted: now, Takes: []Take{{Cap: "l", Amount: 9, Free: true}}}}})
	if err != nil || len(out.Jobs) != 1 {
		t.Errorf("more than there is of what does not bind it: %+v, %v", out, err)
	}
	sum := runsCompared{capped: true, exempted: true}
	sum.first(t, 150)
	t.Logf("%+v", sum)
	if sum.charted < 200 || sum.fine < 200 {
		t.Errorf("only %+v starts compared", sum)
	}
}

// TestSlurmCapsRun holds runs in which jobs share licences and limits of QOS, on nodes, against slow ones.
func TestSlurmCapsRun(t *testing.T) {
	testbed.Computes(t)
	sum := runsCompared{capped: true}
	sum.first(t, 400)
	for _, seed := range []uint64{549, 770, 804, 1661, 1832, 3066, 3068, 3137, 3891, 4145, 10157, 20057, 22480, 23180, 24513, 41425} { // 4145: who did not fit beside nodes that the main loop keeps others off may fit now
		sum.run(t, seed)
	}
	t.Logf("%+v", sum)
	if sum.charted < 600 || sum.fine < 600 {
		t.Errorf("only %+v starts compared", sum)
	}
}

// TestSlurmCapsStillToRun: the same where limits are on what jobs that run still have to run.
func TestSlurmCapsStillToRun(t *testing.T) {
	testbed.Computes(t)
	sum := runsCompared{capped: true, stillToRun: true}
	sum.first(t, 150)
	t.Logf("%+v", sum)
	if sum.charted < 200 || sum.fine < 200 {
		t.Errorf("only %+v starts compared", sum)
	}
}

// TestSlurmCapsBeyond: who wants more than all may ever have is refused, and what comes free later counts.
func TestSlurmCapsBeyond(t *testing.T) {
	now := time.Unix(1_000_000, 0).UTC()
	job := func(id string, amount int) Job {
		return Job{ID: id, Procs: 1, Requested: time.Hour, Submitted: now, Takes: []Take{{Cap: "l", Amount: amount}, {Cap: "unknown", Amount: 9}, {Cap: "l", Amount: 0}}}
	}
	runs := job("r", 3)
	runs.Started, runs.Placed, runs.Procs = now, []Placement{{"n", 8}}, 8
	s := State{Now: now, Nodes: []Node{{Name: "n", CPUs: 8, Up: true}, {Name: "m", CPUs: 8, Up: true}}, Jobs: []Job{runs, job("a", 6), job("b", 5), job("c", 2), job("d", 1)},
		Caps: []Cap{{Name: "l", Most: 4, Later: []More{{now.Add(2 * time.Hour), 1}}}}}
	f := Forecaster{Policy: Policy{Name: "slurm"}}
	out, err := f.Forecast(s)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, j := range out.Jobs {
		got += fmt.Sprint(j.ID, j.Start.Sub(now).Round(time.Hour), " ")
	}
	if len(out.Refused) != 1 || out.Refused[0].ID != "a" || out.Refused[0].Cause != OverLimit || got != "d0s c1h0m0s b2h0m0s " {
		t.Errorf("%s, %+v", got, out.Refused)
	}
	live, err := f.Live(s)
	if err != nil {
		t.Fatal(err)
	}
	s.Caps = []Cap{{Name: "l", Most: 9}}
	if did, err := live.Sync(s); err != nil || !did.Configured || live.Starts(1)[0].ID != "a" || !live.Starts(1)[0].Start.Equal(now) {
		t.Errorf("there are nine: %+v, %v, %+v", did, err, live.Starts(1))
	}
	s.Jobs[2].Takes = []Take{{Cap: "l", Amount: 8}}
	if did, err := live.Sync(s); err != nil || did.Changed != 1 {
		t.Errorf("b takes eight: %+v, %v", did, err)
	}
	if at := live.Starts(4); len(at) != 4 || at[3].ID != "b" || at[3].Start.Sub(now) < 2*time.Hour {
		t.Errorf("b takes eight: %+v", at)
	}
}

// TestSlurmCapsMore: who waits for more of what jobs share is before those behind him also where somebody ends in the very second in which there is more.
func TestSlurmCapsMore(t *testing.T) {
	now := time.Unix(1_000_000, 0).UTC()
	job := Job{Procs: 1, Requested: time.Hour, Submitted: now}
	r, a, b := job, job, job
	r.ID, r.Started, r.Placed = "r", now, []Placement{{"n", 1}}
	a.ID, a.Takes, b.ID = "a", []Take{{Cap: "l", Amount: 1}}, "b"
	s := State{Now: now, Nodes: []Node{{Name: "n", CPUs: 1, Up: true}}, Jobs: []Job{r, a, b}, Caps: []Cap{{Name: "l", Later: []More{{now.Add(time.Hour), 1}}}}}
	f := Forecaster{Policy: Policy{Name: "slurm"}}
	out, err := f.Forecast(s)
	if err != nil || len(out.Jobs) != 2 || out.Jobs[0].ID != "a" || out.Jobs[0].Start.Sub(now) != time.Hour {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestSlurmCapsCounts: one that backfill would start, had the jobs of a limit left it enough, counts as tried, so that with
// bf_max_job_user=1 the next of its user gives up his place, beside which one behind could not start.
func TestSlurmCapsCounts(t *testing.T) {
	now := time.Unix(1_000_000, 0).UTC()
	runs := func(id string, procs int, limit time.Duration, takes ...Take) Job {
		return Job{ID: id, Procs: procs, Requested: limit, Submitted: now, Started: now, Placed: []Placement{{"n", procs}}, Takes: takes}
	}
	s := State{Now: now, Nodes: []Node{{Name: "n", CPUs: 4, Up: true}}, Caps: []Cap{{Name: "planned", Most: 1, Planned: true}, {Name: "l", Most: 1}}, Jobs: []Job{
		runs("1", 1, 10*time.Hour, Take{Cap: "planned", Amount: 1}), runs("2", 1, 10*time.Minute, Take{Cap: "l", Amount: 1}), runs("3", 2, time.Hour),
		{ID: "4", User: "u", Procs: 1, Requested: 30 * time.Minute, Submitted: now, Takes: []Take{{Cap: "planned", Amount: 1}, {Cap: "l", Amount: 1}}},
		{ID: "5", User: "u", Procs: 3, Requested: time.Hour, Submitted: now}, {ID: "6", User: "v", Procs: 1, Requested: 2 * time.Hour, Submitted: now},
	}}
	f := Forecaster{Policy: Policy{Name: "slurm", Slurm: Slurm{MaxJobUser: 1, fine: true}}}
	out, err := f.Forecast(s)
	if err != nil || len(out.Jobs) != 3 || out.Jobs[0].ID != "6" || out.Jobs[0].Start.Sub(now) > 11*time.Minute {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestSlurmCapsFar: behind bf_window, in steps, no more run than may, and all start.
func TestSlurmCapsFar(t *testing.T) {
	now := time.Unix(1_000_000, 0).UTC()
	s := State{Now: now, Caps: []Cap{{Name: "l", Most: 3}}}
	for n := range 4 {
		s.Nodes = append(s.Nodes, Node{Name: fmt.Sprint("n", n), CPUs: 8, Up: true})
	}
	for i := range 80 {
		j := Job{ID: fmt.Sprint(i), Procs: 1 + i%8, Requested: time.Duration(5+i%50) * time.Minute, Submitted: now}
		if i%2 == 0 {
			j.Takes = []Take{{Cap: "l", Amount: 1 + i%3}}
		}
		s.Jobs = append(s.Jobs, j)
	}
	s.Caps = append(s.Caps, Cap{Name: "late", Later: []More{{now.Add(90 * time.Hour), 1}}})
	s.Jobs = append(s.Jobs, Job{ID: "late", Procs: 1, Requested: time.Minute, Submitted: now, Takes: []Take{{Cap: "late", Amount: 1}}})
	f := Forecaster{Policy: Policy{Name: "slurm", Slurm: Slurm{Window: time.Minute}}}
	out, err := f.Forecast(s)
	if err != nil || len(out.Jobs) != 81 || out.Jobs[80].ID != "late" || out.Jobs[80].Start.Sub(now) != 90*time.Hour {
		t.Fatal(len(out.Jobs), out.Refused, err)
	}
	jobs := map[string]Job{}
	for _, j := range s.Jobs {
		jobs[j.ID] = j
	}
	for _, at := range out.Jobs {
		has := 0
		for _, e := range out.Jobs {
			if j := jobs[e.ID]; len(j.Takes) > 0 && !e.Start.After(at.Start) && e.Start.Add(j.Requested).After(at.Start) {
				has += j.Takes[0].Amount
			}
		}
		if has > 3 {
			t.Errorf("at %v jobs have %d of 3", at.Start.Sub(now), has)
		}
	}
	if last := out.Jobs[79].Start.Sub(now); last < 4*time.Hour {
		t.Errorf("all have started after %v: no steps", last)
	}
}

// TestSlurmCapsGiveWay: a job that gives way gives back what it has taken, which the one that it gave way to takes; one for which
// there is not enough has nobody give way.
func TestSlurmCapsGiveWay(t *testing.T) {
	now := time.Unix(1_000_000, 0).UTC()
	runs := Job{ID: "r", Queue: "low", Procs: 8, Requested: 2 * time.Hour, Submitted: now, Started: now.Add(-time.Minute), Placed: []Placement{{"n", 8}}, Takes: []Take{{Cap: "l", Amount: 2}}}
	s := State{Now: now, Nodes: []Node{{Name: "n", CPUs: 8, Up: true}}, Caps: []Cap{{Name: "l", Most: 3}, {Name: "k", Later: []More{{now.Add(time.Hour), 1}}}},
		Queues: []Queue{{Name: "low", PreemptMode: PreemptRequeue}, {Name: "hi", Priority: 1}}}
	s.Jobs = []Job{runs, {ID: "a", Queue: "hi", Procs: 8, Requested: 10 * time.Minute, Submitted: now, Takes: []Take{{Cap: "l", Amount: 1}}},
		{ID: "b", Queue: "hi", Procs: 8, Requested: 10 * time.Minute, Submitted: now, Takes: []Take{{Cap: "l", Amount: 3}}}, {ID: "k", Queue: "hi", Procs: 8, Requested: time.Minute, Submitted: now, Takes: []Take{{Cap: "k", Amount: 1}}}}
	f := Forecaster{Policy: Policy{Name: "slurm", Slurm: Slurm{Preemption: Preemption{Type: "partition_prio"}}}}
	out, err := f.Forecast(s)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, j := range out.Jobs {
		got += fmt.Sprint(j.ID, " ", int(j.Start.Sub(now).Minutes()), " ")
	}
	if got != "a 0 b 10 k 60 " {
		t.Error(got)
	}
}

// TestSlurmCapsInTurn: who is behind one that has another give way, and wants what that had, has it when it is his turn; who was
// before him was passed by.
func TestSlurmCapsInTurn(t *testing.T) {
	now := time.Unix(1_000_000, 0).UTC()
	s := State{Now: now, Nodes: []Node{{Name: "n", CPUs: 1, Up: true, Queues: []string{"low", "b"}}, {Name: "m", CPUs: 1, Up: true, Queues: []string{"a"}}}, Caps: []Cap{{Name: "l", Most: 1}},
		Queues: []Queue{{Name: "low", PreemptMode: PreemptRequeue}, {Name: "a", Priority: 1}, {Name: "b", Priority: 1}},
		Jobs: []Job{{ID: "r", Queue: "low", Procs: 1, Requested: time.Hour, Submitted: now, Started: now.Add(-time.Minute), Placed: []Placement{{"n", 1}}, Takes: []Take{{Cap: "l", Amount: 1}}},
			{ID: "first", Queue: "a", Priority: 3, Procs: 1, Requested: time.Hour, Submitted: now, Takes: []Take{{Cap: "l", Amount: 1}}}, {ID: "over", Queue: "b", Priority: 2, Procs: 1, Requested: time.Hour, Submitted: now},
			{ID: "then", Queue: "a", Priority: 1, Procs: 1, Requested: time.Hour, Submitted: now, Takes: []Take{{Cap: "l", Amount: 1}}}}}
	f := Forecaster{Policy: Policy{Name: "slurm", Slurm: Slurm{Preemption: Preemption{Type: "partition_prio"}}}}
	out, err := f.Forecast(s)
	if err != nil || len(out.Jobs) != 3 || out.Jobs[0].ID != "over" || out.Jobs[1].ID != "then" || !out.Jobs[1].Start.Equal(now) {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestSlurmCapsLet: a job that a limit let start where it had no place is reckoned with by the one behind it, whose place goes to
// the node that has become the least to hold it.
func TestSlurmCapsLet(t *testing.T) {
	now := time.Unix(1_000_000, 0).UTC()
	runs := func(id, node string, procs int, limit time.Duration) Job {
		return Job{ID: id, Procs: procs, Requested: limit, Submitted: now, Started: now, Placed: []Placement{{node, procs}}}
	}
	s := State{Now: now, Caps: []Cap{{Name: "l", Most: 1}}, Nodes: []Node{{Name: "n0", CPUs: 5, Up: true}, {Name: "n1", CPUs: 4, Up: true}, {Name: "n2", CPUs: 6, Up: true}}}
	s.Jobs = []Job{runs("1", "n0", 5, 100*time.Minute), runs("2", "n1", 3, 10*time.Hour), runs("3", "n1", 1, 10*time.Minute), runs("4", "n2", 4, 100*time.Minute),
		{ID: "5", Procs: 2, Requested: 5 * time.Hour, Submitted: now, Takes: []Take{{Cap: "l", Amount: 1}}}, {ID: "6", Procs: 4, Requested: time.Hour, Submitted: now}}
	s.Jobs[2].Takes = []Take{{Cap: "l", Amount: 1}}
	run := passing(t, s, Slurm{fine: true}, 0)
	for run.clock.next() < now.Add(11*time.Minute).Unix() {
		run.step()
	}
	for _, y := range run.m.policy.(*slurm).yards {
		ground{run.m.policy.(*slurm), run.m, y}.settle()
	}
	for i := range run.m.jobs {
		if j := &run.m.jobs[i]; j.Procs == 4 && j.state == queued && (len(j.shares) != 1 || j.shares[0].node != 2) {
			t.Errorf("its place is at %d on %v", j.planned-now.Unix(), j.shares)
		}
	}
	if run.m.wait != 1 {
		t.Errorf("%d wait", run.m.wait)
	}
}
