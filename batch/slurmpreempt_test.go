package batch_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/testdata/testbed"
)

// slowPreempt is the slow Slurm with jobs that give way to those of queues of
// greater priority, by the rules as they are written down.
type slowPreempt struct {
	slowNodes
	back    []slowHeld // who gave way, and from when on may start again
	leaving []slowHeld // who runs until its grace is over
	exempt  int64
	awaits  map[string]int64 // until when those that give way to a job still run
	story   []string
}

func (s *slowPreempt) queue(j batch.Job) batch.Queue {
	return s.state.Queues[slices.IndexFunc(s.state.Queues, func(q batch.Queue) bool { return q.Name == j.Queue })]
}

// sort puts those that wait in order.
func (s *slowPreempt) sort() {
	slices.SortStableFunc(s.waiting, func(a, b batch.Job) int {
		return cmp.Or(cmp.Compare(s.queue(b).Priority, s.queue(a).Priority), a.Submitted.Compare(b.Submitted))
	})
}

func (s *slowPreempt) tell(kind batch.EventKind, j batch.Job) {
	s.story = append(s.story, fmt.Sprint(s.now-s.state.Now.Unix(), " ", kind, " ", j.ID))
}

// begin starts the job at a place of those that wait.
func (s *slowPreempt) begin(i int, on map[string]int) {
	s.tell(batch.Started, s.waiting[i])
	s.start(i, on)
}

// victims are those that may give way, in order.
func (s *slowPreempt) victims(j batch.Job) (list []slowHeld) {
	for _, h := range s.running {
		q := s.queue(h.job)
		gone := slices.ContainsFunc(s.leaving, func(l slowHeld) bool { return l.job.ID == h.job.ID })
		if q.Priority >= s.queue(j).Priority || q.PreemptMode == "" || gone {
			continue
		}
		if safe := h.from + max(1, int64(s.policy.Slurm.Preemption.ExemptTime/time.Second)); safe > s.now {
			s.exempt = min(s.exempt, safe)
			continue
		}
		list = append(list, h)
	}
	slices.SortStableFunc(list, func(a, b slowHeld) int {
		if s.policy.Slurm.Preemption.YoungestFirst {
			return cmp.Compare(b.from, a.from)
		}
		return cmp.Or(cmp.Compare(s.queue(a.job).Priority, s.queue(b.job).Priority), a.job.Submitted.Compare(b.job.Submitted))
	})
	return list
}

// without takes jobs off until another fits, and tells which and where.
func (s *slowPreempt) without(j batch.Job, list []slowHeld) (out []slowHeld, on map[string]int) {
	all := s.running
	for _, v := range list {
		s.running = slices.DeleteFunc(slices.Clone(s.running), func(h slowHeld) bool { return h.job.ID == v.job.ID })
		out = append(out, v)
		if on = s.fit(j, s.now); on != nil {
			break
		}
	}
	s.running = all
	return out, on
}

// preempt starts a job that waits in place of others.
func (s *slowPreempt) preempt(i int) bool {
	j := s.waiting[i]
	if until, ok := s.awaits[j.ID]; ok && until >= s.now {
		return false
	}
	list := s.victims(j)
	out, on := s.without(j, list)
	if on == nil {
		return false
	}
	last := len(out) - 1
	if out, on = s.without(j, append(append(slices.Clone(out[last:]), out[:last]...), list[len(out):]...)); on == nil {
		return false
	}
	later := int64(0)
	for _, v := range out {
		if grace := int64(s.queue(v.job).GraceTime / time.Second); grace > 0 {
			k := slices.IndexFunc(s.running, func(h slowHeld) bool { return h.job.ID == v.job.ID })
			s.running[k].to = min(s.running[k].to, s.now+grace)
			s.leaving = append(s.leaving, slowHeld{job: v.job, from: 0, to: s.running[k].to})
			later = max(later, s.running[k].to)
			continue
		}
		s.evict(v.job)
	}
	if later > 0 {
		s.awaits[j.ID] = later
		return false
	}
	s.begin(i, on)
	return true
}

func (s *slowPreempt) evict(j batch.Job) {
	s.running = slices.DeleteFunc(s.running, func(h slowHeld) bool { return h.job.ID == j.ID })
	s.tell(batch.Preempted, j)
	s.exempt = min(s.exempt, s.now+1) // the main loop looks again
	if s.queue(j).PreemptMode == batch.PreemptRequeue {
		s.back = append(s.back, slowHeld{job: j, from: s.now + 121})
	}
}

// heads starts the first jobs while they fit, or others give way to them.
func (s *slowPreempt) heads() {
	for len(s.waiting) > 0 {
		places := s.places
		s.places = slices.DeleteFunc(slices.Clone(places), func(h slowHeld) bool { return h.job.ID == s.waiting[0].ID })
		if on := s.fit(s.waiting[0], s.now); on != nil {
			s.begin(0, on)
		} else if !s.preempt(0) {
			s.places = places
			return
		}
	}
}

// claim starts those for whom others have just left.
func (s *slowPreempt) claim() {
	for _, j := range slices.Clone(s.waiting) {
		if s.awaits[j.ID] != s.now {
			continue
		}
		places := s.places
		s.places = slices.DeleteFunc(slices.Clone(places), func(h slowHeld) bool { return h.job.ID == j.ID })
		if on := s.fit(j, s.now); on != nil {
			s.begin(slices.IndexFunc(s.waiting, func(w batch.Job) bool { return w.ID == j.ID }), on)
		} else {
			s.places = places
		}
	}
}

func (s *slowPreempt) backfill() {
	s.last, s.dirty, s.places = s.now, false, nil
	for i := 0; i < len(s.waiting); {
		if s.fit(s.waiting[i], s.now) == nil && s.preempt(i) {
			continue
		}
		at, on := s.earliest(s.waiting[i])
		if at == s.now {
			s.begin(i, on)
			continue
		}
		s.places = append(s.places, slowHeld{job: s.waiting[i], from: at, to: at + s.limit(s.waiting[i]), on: on})
		i++
	}
}

// returns lets those wait again whose time has come.
func (s *slowPreempt) returns() {
	for i := 0; i < len(s.back); {
		if s.back[i].from > s.now {
			i++
			continue
		}
		s.waiting = append(s.waiting, s.back[i].job)
		s.back = slices.Delete(s.back, i, i+1)
		s.sort()
		s.happened()
	}
}

func (s *slowPreempt) happened() {
	if !s.dirty {
		s.dirty, s.since = true, s.now
	}
}

func (s *slowPreempt) tick(interval int64) int64 {
	tick := int64(1) << 60
	if len(s.waiting) == 0 {
		return tick
	}
	if s.dirty {
		tick = max(s.last+interval, s.since+1, s.now)
	}
	for _, p := range s.places {
		tick = min(tick, max(p.from, s.last+interval))
	}
	return tick
}

// toItsEnd tells whether a job runs to its limit.
func (s *slowPreempt) toItsEnd(h slowHeld) bool {
	leaving := slices.ContainsFunc(s.leaving, func(l slowHeld) bool { return l.job.ID == h.job.ID })
	return !leaving || h.from+int64(h.job.Requested/time.Second) == h.to
}

// run goes from event to event.
func (s *slowPreempt) run(interval int64) {
	s.last, s.dirty, s.since, s.exempt, s.awaits = -1<<40, true, -1<<40, 1<<60, map[string]int64{}
	s.sort()
	s.heads()
	for {
		end, wake := int64(1)<<60, s.tick(interval)
		for _, h := range s.running {
			if s.toItsEnd(h) {
				end = min(end, h.to)
			}
		}
		for _, l := range s.leaving {
			wake = min(wake, l.to)
		}
		for _, b := range s.back {
			wake = min(wake, b.from)
		}
		if len(s.waiting) > 0 {
			wake = min(wake, s.exempt)
		}
		if min(end, wake) == 1<<60 {
			return
		}
		if s.now = min(end, wake); end <= wake {
			i := slices.IndexFunc(s.running, func(h slowHeld) bool { return h.to == end && s.toItsEnd(h) })
			s.leaving = slices.DeleteFunc(s.leaving, func(l slowHeld) bool { return l.job.ID == s.running[i].job.ID })
			s.tell(batch.TimedOut, s.running[i].job)
			s.running = slices.Delete(s.running, i, i+1)
			s.returns()
			s.happened()
			s.heads()
			continue
		}
		s.returns()
		tick, any := s.tick(interval), false
		for _, h := range slices.Clone(s.running) {
			if k := slices.IndexFunc(s.leaving, func(l slowHeld) bool { return l.job.ID == h.job.ID && l.to <= s.now }); k >= 0 {
				s.leaving = slices.Delete(s.leaving, k, k+1)
				s.evict(h.job)
				s.happened()
				any = true
			}
		}
		if any {
			s.claim()
		}
		if s.exempt <= s.now {
			s.exempt = 1 << 60
			s.happened()
		}
		if s.heads(); tick <= s.now {
			s.backfill()
		}
	}
}

// TestSlurmPreemptOracle compares, on one node, all that starts, ends and gives way
// with a slow Slurm, with and without grace and exempt time, requeued or cancelled.
func TestSlurmPreemptOracle(t *testing.T) {
	testbed.Computes(t)
	gaveWay := 0
	for seed := range uint64(900) {
		rng := rand.New(rand.NewPCG(seed, 43))
		s := plainScene(seed)
		s.Nodes = []batch.Node{{Name: "n", CPUs: 6, Memory: 1 << 20, Disk: 1 << 20, GPUs: 4, Features: []string{"fast"}, Up: true}}
		s.Queues = []batch.Queue{
			{Name: "p1", Priority: 1, PreemptMode: []batch.PreemptMode{batch.PreemptRequeue, batch.PreemptCancel, ""}[rng.IntN(3)]},
			{Name: "p2", Priority: 2}, {Name: "p0", PreemptMode: batch.PreemptRequeue},
		}
		s.Nodes[0].Queues = []string{"p0", "p1", "p2"}
		if rng.IntN(2) == 0 {
			s.Queues[0].GraceTime, s.Queues[2].GraceTime = time.Duration(rng.IntN(300))*time.Second, time.Duration(rng.IntN(300))*time.Second
		}
		for i := range s.Jobs {
			s.Jobs[i].ID, s.Jobs[i].Nodes, s.Jobs[i].Requested = fmt.Sprint(i), 0, time.Duration(1+rng.IntN(40))*time.Minute
			s.Jobs[i].Queue = []string{"p0", "p1", "p2"}[rng.IntN(3)]
		}
		p := batch.Policy{Name: "slurm", Slurm: batch.Slurm{Interval: time.Duration(1+rng.IntN(90)) * time.Second}}
		p.Slurm.Preemption = batch.Preemption{Type: "partition_prio", ExemptTime: time.Duration(rng.IntN(3)*rng.IntN(600)) * time.Second, YoungestFirst: rng.IntN(3) == 0}
		begun(rng, &s)
		slow := slowPreempt{slowNodes: slowNodes{state: s, policy: p, now: s.Now.Unix()}}
		for _, j := range s.Jobs {
			if j.Started.IsZero() {
				slow.waiting = append(slow.waiting, j)
			} else {
				slow.running = append(slow.running, slowHeld{job: j, from: j.Started.Unix(), to: j.Started.Add(j.Requested).Unix(), on: map[string]int{"n": j.Procs}})
			}
		}
		slow.run(int64(p.Slurm.Interval / time.Second))
		if got := storyOf(t, s, p); !slices.Equal(got, slow.story) {
			t.Fatalf("seed %d, %+v, %+v:\n%q\nwant\n%q", seed, p.Slurm.Preemption, s.Queues, got, slow.story)
		}
		for _, line := range slow.story {
			if strings.Contains(line, string(batch.Preempted)) {
				gaveWay++
			}
		}
		firstStarts(t, s, p, slow.story)
	}
	if gaveWay < 400 {
		t.Errorf("only %d jobs gave way", gaveWay)
	}
}

// begun lets the first jobs that fit run for some time already.
func begun(rng *rand.Rand, s *batch.State) {
	left := s.Nodes[0].CPUs
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if j.Queue == "p2" || j.Procs > left || j.GPUs > 0 || j.Exclusive || rng.IntN(2) == 0 {
			continue
		}
		left -= j.Procs
		j.Started = s.Now.Add(-time.Duration(rng.Int64N(int64(j.Requested/time.Second))) * time.Second)
		j.Placed = []batch.Placement{{Node: "n", Procs: j.Procs}}
	}
}

// storyOf is what happens on an engine.
func storyOf(t *testing.T, s batch.State, p batch.Policy) (story []string) {
	t.Helper()
	e, err := batch.NewEngine(s, p)
	if err != nil {
		t.Fatal(err)
	}
	e.Observe(func(what batch.Event) {
		story = append(story, fmt.Sprint(int64(what.At.Sub(s.Now)/time.Second), " ", what.Kind, " ", what.Job.ID))
	})
	for e.Step() {
	}
	return story
}

// firstStarts holds a forecast against the first starts of a story: every job that
// waits has one, and one alone.
func firstStarts(t *testing.T, s batch.State, p batch.Policy, story []string) {
	t.Helper()
	want := map[string]int64{}
	for _, line := range story {
		var at int64
		var kind, id string
		if fmt.Sscan(line, &at, &kind, &id); kind != string(batch.Started) {
			continue
		}
		if _, again := want[id]; !again {
			want[id] = at
		}
	}
	f := batch.Forecaster{Policy: p}
	out, err := f.Forecast(s)
	if err != nil {
		t.Fatal(err)
	}
	waiting := 0
	for _, j := range s.Jobs {
		if j.Started.IsZero() {
			waiting++
		}
	}
	if len(out.Jobs)+len(out.Refused) != waiting {
		t.Fatalf("%d starts and %d refusals of %d jobs that wait", len(out.Jobs), len(out.Refused), waiting)
	}
	for _, e := range out.Jobs {
		if got := int64(e.Start.Sub(s.Now) / time.Second); got != want[e.ID] {
			t.Fatalf("job %s is foretold for %d, and starts at %d", e.ID, got, want[e.ID])
		}
	}
}

// TestSlurmPreemption: two nodes of four processors; each scene's story follows from
// the rules.
func TestSlurmPreemption(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	runs := func(id, queue string, minutes int, on ...batch.Placement) batch.Job {
		j := batch.Job{ID: id, Queue: queue, QOS: queue, Requested: time.Hour, Submitted: now.Add(-time.Hour), Started: now.Add(-time.Duration(minutes) * time.Minute), Placed: on}
		for _, p := range on {
			j.Procs += p.Procs
		}
		return j
	}
	waits := func(id, queue string, procs int) batch.Job {
		return batch.Job{ID: id, Queue: queue, QOS: queue, Procs: procs, Requested: 30 * time.Minute, Submitted: now.Add(-time.Minute)}
	}
	a, b := func(n int) batch.Placement { return batch.Placement{Node: "a", Procs: n} }, func(n int) batch.Placement { return batch.Placement{Node: "b", Procs: n} }
	tiers := batch.Preemption{Type: "partition_prio"}
	for _, v := range []struct {
		name  string
		rules batch.Preemption
		jobs  []batch.Job
		want  string
	}{
		{"nobody gives way unless PreemptType says so", batch.Preemption{}, []batch.Job{runs("1", "low", 10, a(4), b(4)), waits("2", "high", 4)}, "3000 started 2"},
		{"a job of a lower tier is requeued, and starts again two minutes later at the earliest", tiers, []batch.Job{runs("1", "low", 10, a(4)), runs("2", "high", 50, b(4)), waits("3", "high", 2)},
			"0 preempted 1, 0 started 3, 600 started 1"},
		{"no more than need be", tiers, []batch.Job{runs("1", "low", 10, a(2)), runs("2", "low", 10, a(2)), runs("3", "low", 10, b(2)), runs("4", "low", 10, b(2)), waits("5", "high", 2)},
			"0 preempted 1, 0 started 5, 1800 started 1"},
		{"those on fewer nodes first", tiers, []batch.Job{runs("1", "low", 10, a(2), b(2)), runs("2", "low", 10, a(2)), runs("3", "high", 10, b(2)), waits("4", "high", 2)},
			"0 preempted 2, 0 started 4, 1800 started 2"},
		{"of the lowest tier first", tiers, []batch.Job{runs("1", "middle", 10, a(4)), runs("2", "low", 10, b(4)), waits("3", "high", 4)}, "0 preempted 2, 0 started 3, 1800 started 2"},
		{"not of the same tier", tiers, []batch.Job{runs("1", "low", 10, a(4), b(4)), waits("2", "low", 4)}, "3000 started 2"},
		{"PreemptMode=OFF", tiers, []batch.Job{runs("1", "firm", 10, a(4), b(4)), waits("2", "high", 4)}, "3000 started 2"},
		{"PreemptMode=CANCEL", tiers, []batch.Job{runs("1", "loose", 10, a(4), b(4)), waits("2", "high", 4)}, "0 preempted 1, 0 started 2"},
		{"GraceTime", tiers, []batch.Job{runs("1", "mild", 10, a(4), b(4)), waits("2", "high", 8)}, "60 preempted 1, 60 started 2, 1860 started 1"},
		{"who ends within the grace is not put out", tiers, []batch.Job{runs("1", "mild", 59, a(4), b(4)), waits("2", "high", 8)}, "60 started 2"},
		{"PreemptExemptTime", batch.Preemption{Type: "partition_prio", ExemptTime: 15 * time.Minute}, []batch.Job{runs("1", "low", 10, a(4), b(4)), waits("2", "high", 8)},
			"300 preempted 1, 300 started 2, 2100 started 1"},
		{"the youngest first", batch.Preemption{Type: "partition_prio", YoungestFirst: true}, []batch.Job{runs("1", "low", 10, a(4)), runs("2", "low", 5, b(4)), waits("3", "high", 4)},
			"0 preempted 2, 0 started 3, 1800 started 2"},
		{"useful ones first: who alone is enough", tiers, []batch.Job{runs("1", "low", 10, a(1)), runs("2", "low", 10, b(4)), runs("3", "high", 10, a(3)), waits("4", "high", 4)},
			"0 preempted 2, 0 started 4, 1800 started 2"},
		{"also behind one that nobody gives way to enough", tiers, []batch.Job{runs("1", "high", 10, a(3)), runs("2", "low", 10, b(4)), waits("3", "high", 8), waits("4", "high", 4)},
			"0 preempted 2, 0 started 4, 3000 started 3, 4800 started 2"},
		{"preempt/qos: those that the QOS names", batch.Preemption{Type: "qos", QOS: map[string]batch.PreemptQOS{
			"high": {Over: []string{"low"}}, "low": {Mode: batch.PreemptRequeue}, "middle": {Mode: batch.PreemptRequeue},
		}}, []batch.Job{runs("1", "middle", 10, a(4)), runs("2", "low", 10, b(4)), waits("3", "high", 4), waits("4", "middle", 4)}, "0 preempted 2, 0 started 3, 1800 started 4, 3000 started 2"},
		{"what is left of the nodes of one that gave way is for who was tried before", batch.Preemption{Type: "qos", QOS: map[string]batch.PreemptQOS{"low": {Over: []string{"loose"}}, "loose": {Mode: batch.PreemptCancel}}},
			[]batch.Job{runs("1", "loose", 10, a(4), b(4)), waits("2", "high", 4), waits("3", "low", 4)}, "0 preempted 1, 0 started 3, 1 started 2"},
		{"preempt/qos: before those that give way, whatever the tiers", batch.Preemption{Type: "qos", QOS: map[string]batch.PreemptQOS{"low": {Over: []string{"high"}}}},
			[]batch.Job{runs("1", "middle", 10, a(4), b(4)), waits("2", "high", 8), waits("3", "low", 8)}, "3000 started 3, 4800 started 2"},
		{"preempt/qos: where three go before each other in a ring it is by a sort in halves", batch.Preemption{Type: "qos", QOS: map[string]batch.PreemptQOS{"low": {Over: []string{"firm"}}, "firm": {Over: []string{"loose"}}}},
			[]batch.Job{runs("1", "middle", 10, a(4), b(4)), waits("2", "loose", 8), waits("3", "firm", 8), waits("4", "low", 8)}, "3000 started 2, 4800 started 4, 6600 started 3"},
	} {
		t.Run(v.name, func(t *testing.T) {
			s := batch.State{Now: now, Jobs: v.jobs, Nodes: []batch.Node{{Name: "a", CPUs: 4, Up: true}, {Name: "b", CPUs: 4, Up: true}}, Queues: []batch.Queue{
				{Name: "low", PreemptMode: batch.PreemptRequeue}, {Name: "loose", PreemptMode: batch.PreemptCancel}, {Name: "firm"},
				{Name: "mild", PreemptMode: batch.PreemptRequeue, GraceTime: time.Minute}, {Name: "middle", Priority: 1, PreemptMode: batch.PreemptRequeue}, {Name: "high", Priority: 2},
			}}
			p := batch.Policy{Name: "slurm", Slurm: batch.Slurm{Preemption: v.rules}}
			story := slices.DeleteFunc(storyOf(t, s, p), func(line string) bool { return strings.Contains(line, string(batch.TimedOut)) })
			if got := strings.Join(story, ", "); got != v.want {
				t.Errorf("got %s, want %s", got, v.want)
			}
			firstStarts(t, s, p, story)
		})
	}
}

// TestSlurmPreemptNodes: on unlike nodes no node ever has more than it can hold, all
// that wait start, and the forecast says when.
func TestSlurmPreemptNodes(t *testing.T) {
	gaveWay := 0
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 47))
		s := plainScene(seed)
		s.Queues = []batch.Queue{{Name: "p1", PreemptMode: batch.PreemptRequeue, GraceTime: time.Duration(rng.IntN(2)*rng.IntN(300)) * time.Second}, {Name: "p2", Priority: 1}}
		p := batch.Policy{Name: "slurm", Slurm: batch.Slurm{Preemption: batch.Preemption{Type: "partition_prio"}}}
		low := s
		low.Jobs = slices.DeleteFunc(slices.Clone(s.Jobs), func(j batch.Job) bool { return j.Queue != "p1" })
		out, err := (&batch.Forecaster{Policy: p}).Forecast(low)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range out.Jobs { // those that could run already do
			if j := &s.Jobs[slices.IndexFunc(s.Jobs, func(j batch.Job) bool { return j.ID == e.ID })]; e.Start.Equal(s.Now) {
				j.Started, j.Placed = s.Now.Add(-time.Duration(rng.Int64N(int64(j.Requested/time.Second)))*time.Second), e.Placed
			}
		}
		e, err := batch.NewEngine(s, p)
		if err != nil {
			t.Fatal(err)
		}
		var story []string
		e.Observe(func(what batch.Event) {
			story = append(story, fmt.Sprint(int64(what.At.Sub(s.Now)/time.Second), " ", what.Kind, " ", what.Job.ID))
			if what.Kind == batch.Preempted {
				gaveWay++
			}
		})
		for e.Step() {
			if e.Next().Equal(e.Now()) {
				continue // some that end now are still to be told of
			}
			held := map[string]batch.Job{}
			for _, j := range e.State().Jobs {
				for _, on := range j.Placed {
					h := held[on.Node]
					held[on.Node] = batch.Job{Procs: h.Procs + on.Procs, Memory: h.Memory + j.Memory*int64(on.Procs), Disk: h.Disk + j.Disk, GPUs: h.GPUs + j.GPUs}
				}
			}
			for _, n := range s.Nodes {
				if h := held[n.Name]; h.Procs > n.CPUs || h.Memory > n.Memory || h.Disk > n.Disk || h.GPUs > n.GPUs {
					t.Fatalf("seed %d, %v: node %+v holds %+v", seed, e.Now(), n, h)
				}
			}
		}
		firstStarts(t, s, p, story)
	}
	if gaveWay < 50 {
		t.Errorf("only %d jobs gave way", gaveWay)
	}
}

// TestSlurmQOSRecorded: in which order the main loop of a Slurm 22.05 started twelve jobs of two
// partitions of one node, of tiers 5 and 7, that had waited for it. The QOS a goes before b, and
// b before c; d is beside them. Nobody gave way, as all were exempt.
func TestSlurmQOSRecorded(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	s := batch.State{Now: now, Nodes: []batch.Node{{Name: "n1", CPUs: 8, Up: true}}, Queues: []batch.Queue{{Name: "one", Priority: 5}, {Name: "two", Priority: 7}}}
	for _, line := range []string{
		"149 b 607 one", "150 c 938 two", "151 a 621 one", "152 d 266 one", "153 b 735 two", "154 d 407 one",
		"155 b 651 one", "156 d 760 one", "157 a 164 one", "158 c 799 one", "159 c 485 two", "160 d 405 two",
	} {
		j := batch.Job{Procs: 8, Requested: 2 * time.Minute, Submitted: now}
		if _, err := fmt.Sscan(line, &j.ID, &j.QOS, &j.Priority, &j.Queue); err != nil {
			t.Fatal(err)
		}
		s.Jobs = append(s.Jobs, j)
	}
	p := batch.Slurm{Preemption: batch.Preemption{Type: "qos", QOS: map[string]batch.PreemptQOS{"a": {Over: []string{"b"}}, "b": {Over: []string{"c"}}}}}
	startsAre(t, s, p, "153 159 160 151 149 150 155 158 156 154 152 157")
}

// startsAre holds the order in which jobs start against one.
func startsAre(t *testing.T, s batch.State, p batch.Slurm, want string) {
	t.Helper()
	var got []string
	for _, line := range storyOf(t, s, batch.Policy{Name: "slurm", Slurm: p}) {
		if id, ok := strings.CutPrefix(line[strings.Index(line, " ")+1:], "started "); ok {
			got = append(got, id)
		}
	}
	if got := strings.Join(got, " "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestSlurmQOSLevels: of few QOS and of many, of which each goes before all those behind it, and
// of which the first come last.
func TestSlurmQOSLevels(t *testing.T) {
	for _, n := range []int{3, 9, 10, 14} {
		s := batch.State{Now: time.Unix(1_700_000_000, 0).UTC(), Nodes: []batch.Node{{Name: "n1", CPUs: 1, Up: true}}, Queues: []batch.Queue{{Name: "p", Priority: 65533}}}
		p := batch.Slurm{Preemption: batch.Preemption{Type: "qos", QOS: map[string]batch.PreemptQOS{}}}
		want, over := "", []string(nil)
		for i := range n {
			qos := fmt.Sprint("q", i)
			p.Preemption.QOS[qos] = batch.PreemptQOS{Over: over}
			over = append(slices.Clip(over), qos)
			for k := range 2 { // of one level by priority
				id := fmt.Sprint(100 + 2*i + k)
				s.Jobs = append(s.Jobs, batch.Job{ID: id, Queue: "p", QOS: qos, Procs: 1, Requested: time.Minute, Submitted: s.Now, Priority: float64(4e9 - 10*float64(i) + float64(k))})
				want = " " + id + want
			}
		}
		startsAre(t, s, p, want[1:])
	}
}

// TestSlurmPreemptRecorded: what a Slurm 22.05 did when a job of 16 processors of a
// partition of tier 10 came to eight nodes full of guests of tier 1, PreemptMode=REQUEUE:
// two of them were put out at once, and waited for their BeginTime 121 s later. With
// PreemptExemptTime=00:00:30 the job waited for that (37 s from its submission, which
// came 7 s later than there).
func TestSlurmPreemptRecorded(t *testing.T) {
	now := time.Date(2026, 11, 21, 23, 19, 0, 0, time.UTC)
	s := batch.State{Now: now, Queues: []batch.Queue{{Name: "short", Priority: 10}, {Name: "grid", Priority: 1, PreemptMode: batch.PreemptRequeue}}}
	for i := range 8 {
		n := fmt.Sprint("n", i+1)
		s.Nodes = append(s.Nodes, batch.Node{Name: n, CPUs: 8, Up: true})
		s.Jobs = append(s.Jobs, batch.Job{
			ID: fmt.Sprint(26 + i), Queue: "grid", Procs: 8, Requested: 10 * time.Minute, Submitted: now.Add(-5 * time.Second), Started: now.Add(-5 * time.Second),
			Placed: []batch.Placement{{Node: n, Procs: 8}},
		})
	}
	s.Jobs = append(s.Jobs, batch.Job{ID: "34", Queue: "short", Procs: 16, Requested: time.Minute, Submitted: now})
	for exempt, want := range map[time.Duration]string{
		0:                "0 preempted 27, 0 preempted 26, 0 started 34, 60 timed out 34, 121 started 26, 121 started 27",
		30 * time.Second: "25 preempted 27, 25 preempted 26, 25 started 34, 85 timed out 34, 146 started 26, 146 started 27",
	} {
		story := storyOf(t, s, batch.Policy{Name: "slurm", Slurm: batch.Slurm{Preemption: batch.Preemption{Type: "partition_prio", ExemptTime: exempt}}})
		if got := strings.Join(story[:6], ", "); got != want {
			t.Errorf("exempt %v: %s, want %s", exempt, got, want)
		}
	}
}
