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

// slowNodes is a scheduler of nodes written to be obviously right: what is held
// is a list, every question is answered by looking at all of it at every time at
// which anything begins or ends, and all places are made anew at every event.
type slowNodes struct {
	state   batch.State
	policy  batch.Policy
	now     int64
	waiting []batch.Job
	running []slowHeld
	places  []slowHeld
	kept    []slowHeld // by reservations, which no job may use
	starts  []string
	last    int64 // slurm: the last pass
	dirty   bool
	since   int64
}

// slowHeld is a job's part of nodes for a time.
type slowHeld struct {
	job      batch.Job
	from, to int64
	on       map[string]int
	set      int // conservative: it was given its place after so many others
}

func (s *slowNodes) limit(j batch.Job) int64 {
	n := int64(j.Requested / time.Second)
	if s.policy.Name == "slurm" {
		n = (n + 59) / 60 * 60
	}
	return n
}

// free is the room for a job's processors on a node at one moment.
func (s *slowNodes) free(n batch.Node, j batch.Job, at int64) int {
	if !n.Up || len(n.Queues) > 0 && j.Queue != "" && !slices.Contains(n.Queues, j.Queue) {
		return 0
	}
	if slices.Contains(j.Without, n.Name) || len(j.Within) > 0 && !slices.Contains(j.Within, n.Name) {
		return 0
	}
	for _, f := range j.Features {
		if !slices.ContainsFunc(strings.Split(f, "|"), func(one string) bool { return slices.Contains(n.Features, one) }) {
			return 0
		}
	}
	cpus, memory, disk, gpus, used := n.CPUs, n.Memory, n.Disk, n.GPUs, false
	for k, list := range [][]slowHeld{s.running, s.places, s.kept} {
		for _, h := range list {
			p := h.on[n.Name]
			if k == 1 && p > 0 && s.policy.Name == "slurm" && h.from <= at && at < h.to {
				return 0 // a place is of the whole node
			}
			if p > 0 && h.from <= at && at < h.to {
				cpus, memory, disk, gpus, used = cpus-p, memory-h.job.Memory*int64(p), disk-h.job.Disk, gpus-h.job.GPUs, true
			}
		}
	}
	if j.Exclusive && used || j.Disk > disk || j.GPUs > gpus {
		return 0
	}
	if j.Memory > 0 {
		cpus = int(min(int64(cpus), memory/j.Memory))
	}
	cpus = max(cpus, 0)
	cpus -= cpus % max(1, j.Core)
	return cpus - cpus%max(1, j.Each)
}

// room is the least of it over the time of the job.
func (s *slowNodes) room(n batch.Node, j batch.Job, at int64) int {
	least := s.free(n, j, at)
	for _, list := range [][]slowHeld{s.running, s.places, s.kept} {
		for _, h := range list {
			if h.on[n.Name] > 0 && h.from > at && h.from < at+s.limit(j) {
				least = min(least, s.free(n, j, h.from))
			}
		}
	}
	return least
}

// fit places a job at a time, on the nodes with the least room; nil: it does not
// fit.
func (s *slowNodes) fit(j batch.Job, at int64) map[string]int {
	type part struct {
		node batch.Node
		room int
	}
	var parts []part
	each := 1
	if j.Nodes > 0 {
		each = (j.Procs + j.Nodes - 1) / j.Nodes
	}
	for _, n := range s.state.Nodes {
		if r := s.room(n, j, at); r >= each {
			if j.Nodes > 0 {
				r = each
			}
			parts = append(parts, part{n, r})
		}
	}
	if j.Nodes == 0 {
		slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(a.room, b.room) })
	}
	on, left := map[string]int{}, j.Procs
	for _, p := range parts {
		if take := min(p.room, left); take > 0 {
			left -= take
			for j.Core > 0 && take%j.Core > 0 {
				take++
			}
			if on[p.node.Name] = take; j.Exclusive {
				on[p.node.Name] = p.node.CPUs
			}
		}
	}
	if left > 0 {
		return nil
	}
	return on
}

// earliest tries now and every time at which something ends.
func (s *slowNodes) earliest(j batch.Job) (int64, map[string]int) {
	times := []int64{s.now}
	for _, list := range [][]slowHeld{s.running, s.places, s.kept} {
		for _, h := range list {
			times = append(times, h.to)
		}
	}
	slices.Sort(times)
	for _, at := range times {
		if at >= s.now {
			if on := s.fit(j, at); on != nil {
				return at, on
			}
		}
	}
	return -1, nil
}

func (s *slowNodes) start(i int, on map[string]int) {
	j := s.waiting[i]
	s.waiting = slices.Delete(s.waiting, i, i+1)
	s.running = append(s.running, slowHeld{job: j, from: s.now, to: s.now + int64(j.Requested/time.Second), on: on})
	s.starts = append(s.starts, fmt.Sprint(j.ID, " ", s.now-s.state.Now.Unix(), " ", on))
}

// line is the set of nodes that serve a job's queue.
func (s *slowNodes) line(j batch.Job) (key string) {
	for _, n := range s.state.Nodes {
		if n.Up && (len(n.Queues) == 0 || j.Queue == "" || slices.Contains(n.Queues, j.Queue)) {
			key += n.Name + " "
		}
	}
	return key
}

// pass is one iteration of the policies that replan at every event.
func (s *slowNodes) pass(depth int) {
	if depth == unlimitedDepth && len(s.places) > 0 { // nothing comes, nothing ends early: places stay
		s.punctual()
		return
	}
	s.places = nil
	given, held := map[string]int{}, map[string]bool{}
	for i := 0; i < len(s.waiting); {
		j := s.waiting[i]
		line := s.line(j)
		if given[line] >= depth {
			i++
			continue
		}
		at, on := s.earliest(j)
		switch {
		case at == s.now:
			if s.start(i, on); given[line] > 0 {
				given[line]++
			}
			continue
		case at > s.now:
			s.places = append(s.places, slowHeld{job: j, from: at, to: at + s.limit(j), on: on})
			held[j.ID] = true
			given[line]++
		}
		i++
	}
	if s.policy.Name == "fcfs" {
		s.places = nil
		return
	}
	if depth == unlimitedDepth {
		return
	}
	for i := 0; i < len(s.order()); {
		k := slices.IndexFunc(s.waiting, func(j batch.Job) bool { return j.ID == s.order()[i].ID })
		if on := s.fit(s.waiting[k], s.now); on != nil && !held[s.waiting[k].ID] {
			s.start(k, on)
			i = 0 // what did not fit before fits even less now
			continue
		}
		i++
	}
	s.places = nil
}

// unlimitedDepth gives every job a reservation.
const unlimitedDepth = 1000

// punctual starts what is due, in order of the queue, where its place is.
func (s *slowNodes) punctual() {
	for i := 0; i < len(s.waiting); {
		k := slices.IndexFunc(s.places, func(h slowHeld) bool { return h.job.ID == s.waiting[i].ID && h.from <= s.now })
		if k < 0 {
			i++
			continue
		}
		s.start(i, s.places[k].on)
		s.places = slices.Delete(s.places, k, k+1)
	}
}

// order is the order in which backfill tries the jobs.
func (s *slowNodes) order() []batch.Job {
	list := slices.Clone(s.waiting)
	if s.policy.Name == "easy-sjbf" {
		slices.SortStableFunc(list, func(a, b batch.Job) int { return cmp.Compare(a.Requested, b.Requested) })
	}
	return list
}

// run goes from event to event until nothing runs and nothing can start.
func (s *slowNodes) run(depth int) {
	for s.pass(depth); ; s.pass(depth) {
		next, at := -1, int64(1)<<60
		for i := range s.running {
			if s.running[i].to < at {
				next, at = i, s.running[i].to
			}
		}
		for _, h := range s.kept { // something may begin when one begins or ends
			for _, edge := range []int64{h.from, h.to} {
				if edge > s.now && edge < at && len(s.waiting) > 0 {
					next, at = -1, edge
				}
			}
		}
		if at == 1<<60 {
			return
		}
		if s.now = at; next >= 0 {
			s.running = slices.Delete(s.running, next, next+1)
		}
	}
}

// reserve makes reservations that no job may use, of some nodes or of a part of them.
func (s *slowNodes) reserve() {
	for _, r := range s.state.Reservations {
		h := slowHeld{from: r.Start.Unix(), to: r.End.Unix(), on: map[string]int{}}
		for _, n := range s.state.Nodes {
			if !slices.Contains(r.Nodes, n.Name) {
				continue
			}
			if h.on[n.Name] = n.CPUs; r.Each > 0 {
				h.on[n.Name] = min(r.Each, n.CPUs)
			}
		}
		s.kept = append(s.kept, h)
	}
}

// plainScene is a scene without what the slow scheduler does not know.
func plainScene(seed uint64) batch.State {
	s := scene(rand.New(rand.NewPCG(seed, 37)))
	s.Nodes[0].Queues, s.Reservations = []string{"p1", "p2"}, nil
	s.Queues = []batch.Queue{{Name: "p1"}, {Name: "p2"}}
	var jobs []batch.Job
	for i, j := range s.Jobs {
		if !j.Started.IsZero() || j.Held || j.Queue == "shut" {
			continue
		}
		j.Begin, j.After, j.Also, j.Reservation, j.Priority = time.Time{}, nil, nil, "", 0
		j.Submitted = s.Now.Add(time.Duration(i-100) * time.Second)
		jobs = append(jobs, j)
	}
	s.Jobs = jobs
	return s
}

// name makes jobs name nodes that they run on or do not, and features of which one will do.
func name(rng *rand.Rand, s *batch.State) {
	for i := range s.Jobs {
		j := &s.Jobs[i]
		for _, n := range s.Nodes {
			if i%3 == 0 && rng.IntN(3) > 0 {
				j.Within = append(j.Within, n.Name)
			}
			if i%4 == 0 && rng.IntN(4) == 0 {
				j.Without = append(j.Without, n.Name)
			}
		}
		if len(j.Features) > 0 && i%2 == 0 {
			j.Features[0] = "none|" + j.Features[0]
		}
	}
}

// TestNodeOracle compares starts and nodes with those of the slow scheduler: with named nodes,
// jobs of tasks, and reservations that no job may use, of nodes or of a part of them.
func TestNodeOracle(t *testing.T) {
	testbed.Computes(t)
	started := 0
	for seed := range uint64(400) {
		s := plainScene(seed)
		if seed%5 == 4 {
			name(rand.New(rand.NewPCG(seed, 29)), &s)
		}
		if seed%5 == 2 {
			rng := rand.New(rand.NewPCG(seed, 53))
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
		}
		for i := range s.Jobs {
			if j := &s.Jobs[i]; seed%5 == 3 && i%2 == 0 {
				j.Each, j.Core = 2+i%4/2, i%6/2
				j.Procs = j.Each * max(1, j.Nodes, (j.Procs+j.Each-1)/j.Each)
			}
		}
		for depth, p := range []batch.Policy{
			1: {Name: "fcfs"}, 2: {Name: "maui", Maui: batch.Maui{ReservationDepth: 2}}, 3: {Name: "easy"}, 4: {Name: "easy-sjbf"},
			5: {Name: "maui", Maui: batch.Maui{ReservationDepth: batch.Unlimited}}, 6: {Name: "maui", Maui: batch.Maui{ReservationDepth: 12}},
		} {
			if p.Name == "" {
				continue
			}
			slow := slowNodes{state: s, policy: p, now: s.Now.Unix(), waiting: slices.Clone(s.Jobs)}
			slow.reserve()
			slow.run(map[int]int{1: 1, 2: 2, 3: 1, 4: 1, 5: unlimitedDepth, 6: 12}[depth])
			f := batch.Forecaster{Policy: p}
			out, err := f.Forecast(s)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range out.Jobs {
				on := map[string]int{}
				for _, x := range e.Placed {
					on[x.Node] = x.Procs
				}
				got = append(got, fmt.Sprint(e.ID, " ", int64(e.Start.Sub(s.Now)/time.Second), " ", on))
			}
			if started += len(got); fmt.Sprint(got) != fmt.Sprint(slow.starts) {
				t.Fatalf("seed %d, %v:\n%v\nwant\n%v", seed, p, got, slow.starts)
			}
		}
	}
	if started < 5000 {
		t.Errorf("only %d starts compared", started)
	}
}

// slurm goes from event to event, making all places anew in every pass.
func (s *slowNodes) slurm(interval int64) {
	s.last, s.dirty, s.since = -1<<40, true, -1<<40
	s.heads()
	for {
		end, tick := int64(1)<<60, int64(1)<<60
		for _, h := range s.running {
			end = min(end, h.to)
		}
		if len(s.waiting) > 0 {
			if s.dirty {
				tick = max(s.last+interval, s.since+1, s.now)
			}
			for _, p := range s.places {
				tick = min(tick, max(p.from, s.last+interval))
			}
		}
		if min(end, tick) == 1<<60 {
			return
		}
		if s.now = min(end, tick); end <= tick {
			i := slices.IndexFunc(s.running, func(h slowHeld) bool { return h.to == end })
			s.running = slices.Delete(s.running, i, i+1)
			if !s.dirty { // backfill sees it a second later
				s.dirty, s.since = true, s.now
			}
			s.heads()
			continue
		}
		s.heads()
		s.backfill()
	}
}

// heads starts the first job while it fits beside the places of the others.
func (s *slowNodes) heads() {
	for len(s.waiting) > 0 {
		places := s.places
		s.places = slices.DeleteFunc(slices.Clone(places), func(h slowHeld) bool { return h.job.ID == s.waiting[0].ID })
		on := s.fit(s.waiting[0], s.now)
		if on == nil {
			s.places = places
			return
		}
		s.start(0, on)
	}
}

// backfill is one pass.
func (s *slowNodes) backfill() {
	s.last, s.dirty, s.places = s.now, false, nil
	for i := 0; i < len(s.waiting); {
		at, on := s.earliest(s.waiting[i])
		if at == s.now {
			s.start(i, on)
			continue
		}
		s.places = append(s.places, slowHeld{job: s.waiting[i], from: at, to: at + s.limit(s.waiting[i]), on: on})
		i++
	}
}

// TestSlurmOracle compares, on one node, where it does not matter which nodes a
// place is on, with a Slurm that makes all places anew in every pass.
func TestSlurmOracle(t *testing.T) {
	started := 0
	for seed := range uint64(300) {
		s := plainScene(seed)
		rng := rand.New(rand.NewPCG(seed, 41))
		s.Nodes = []batch.Node{{Name: "n", CPUs: 6, Memory: 1 << 20, Disk: 1 << 20, GPUs: 4, Features: []string{"fast"}, Up: true}}
		unit := []time.Duration{17 * time.Second, time.Minute}[seed%2] // the second is of whole steps of bf_resolution
		for i := range s.Jobs {
			s.Jobs[i].Nodes, s.Jobs[i].Requested = 0, time.Duration(1+rng.IntN(40))*unit
		}
		p := batch.Policy{Name: "slurm", Slurm: batch.Fine(batch.Slurm{Interval: time.Duration(1+rng.IntN(90)) * time.Second})}
		slow := slowNodes{state: s, policy: p, now: s.Now.Unix(), waiting: slices.Clone(s.Jobs)}
		slow.slurm(int64(p.Slurm.Interval / time.Second))
		f := batch.Forecaster{Policy: p}
		out, err := f.Forecast(s)
		if err != nil {
			t.Fatal(err)
		}
		got, want := map[string]string{}, map[string]string{}
		for _, e := range out.Jobs {
			got[e.ID] = fmt.Sprint(int64(e.Start.Sub(s.Now) / time.Second))
		}
		for _, line := range slow.starts {
			var id, at string
			fmt.Sscan(line, &id, &at)
			want[id] = at
		}
		if started += len(got); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("seed %d, %v:\n%v\nwant\n%v", seed, p.Slurm.Interval, got, want)
		}
	}
	if started < 1000 {
		t.Errorf("only %d starts compared", started)
	}
}

// TestSlurmParameters: four processors, of which three are taken for an hour;
// each scene's starts follow from what the parameter is said to do.
func TestSlurmParameters(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	job := func(id string, procs, minutes int, change ...func(*batch.Job)) batch.Job {
		j := batch.Job{ID: id, User: "u" + id, Procs: procs, Requested: time.Duration(minutes) * time.Minute, Submitted: now.Add(-time.Hour)}
		for _, c := range change {
			c(&j)
		}
		return j
	}
	priority := func(p float64) func(*batch.Job) { return func(j *batch.Job) { j.Priority = p } }
	queue := func(q string) func(*batch.Job) { return func(j *batch.Job) { j.Queue = q } }
	user := func(j *batch.Job) { j.User = "u" }
	array := func(j *batch.Job) { j.Array, j.ArrayLimit = "a", 1 }
	least := func(j *batch.Job) { j.Least = 30 * time.Minute }
	part := func(j *batch.Job) { j.Array = "a" }
	wide, short := job("1", 4, 30), job("2", 1, 59) // a place begins up to bf_resolution early
	for _, v := range []struct {
		name  string
		slurm batch.Slurm
		jobs  []batch.Job
		want  string
	}{
		{"backfill starts what does not delay the first", batch.Slurm{}, []batch.Job{wide, short}, "1 1h0m0s, 2 0s"},
		{"and not what does", batch.Slurm{}, []batch.Job{wide, job("2", 1, 61)}, "1 1h0m0s, 2 1h30m0s"},
		{"all have places, not the first alone", batch.Slurm{}, []batch.Job{job("1", 2, 30), job("2", 4, 10), job("3", 1, 95)}, "1 1h0m0s, 2 1h30m0s, 3 1h40m0s"},
		{"sched/builtin has no backfill", batch.Slurm{Builtin: true}, []batch.Job{wide, short}, "1 1h0m0s, 2 1h30m0s"},
		{"bf_max_job_test", batch.Slurm{MaxJobTest: 1}, []batch.Job{wide, short}, "1 1h0m0s, 2 1h30m0s"},
		{"bf_max_job_user", batch.Slurm{MaxJobUser: 1}, []batch.Job{job("1", 4, 30, user), job("2", 1, 60, user), job("3", 1, 50)}, "1 1h0m0s, 2 1h30m0s, 3 0s"},
		{"bf_window: a place beyond it protects nobody", batch.Slurm{Window: 30 * time.Minute}, []batch.Job{wide, job("2", 1, 90)}, "1 1h30m0s, 2 0s"},
		{"bf_resolution: lengths are rounded up", batch.Slurm{Resolution: 10 * time.Minute}, []batch.Job{wide, job("2", 1, 55), job("3", 1, 5)}, "1 1h0m0s, 2 0s, 3 1h30m0s"},
		{"a least limit, which backfill gives", batch.Slurm{}, []batch.Job{wide, job("2", 1, 90, least), job("3", 1, 20)}, "1 1h0m0s, 2 0s, 3 30m1s"},
		{"and the main loop does not", batch.Slurm{}, []batch.Job{job("1", 1, 90, least), job("2", 2, 20)}, "1 0s, 2 1h0m0s"},
		{"nor a scheduler without backfill", batch.Slurm{Builtin: true}, []batch.Job{job("1", 1, 90, least), job("2", 4, 20)}, "1 0s, 2 1h30m0s"},
		{"priority", batch.Slurm{}, []batch.Job{job("1", 4, 30, priority(1)), job("2", 4, 30, priority(2))}, "1 1h30m0s, 2 1h0m0s"},
		{"PriorityTier before priority", batch.Slurm{}, []batch.Job{job("1", 4, 30, priority(9)), job("2", 4, 30, queue("high"))}, "1 1h30m0s, 2 1h0m0s"},
		{"partition factor", batch.Slurm{Multifactor: batch.Multifactor{Partition: 10}}, []batch.Job{job("1", 4, 30), job("2", 4, 30, queue("favoured"))}, "1 1h30m0s, 2 1h0m0s"},
		{"fair share", batch.Slurm{Multifactor: batch.Multifactor{FairShare: 10, Shares: map[string]float64{"u2": 1}}}, []batch.Job{job("1", 4, 30), job("2", 4, 30)}, "1 1h30m0s, 2 1h0m0s"},
		{"job size", batch.Slurm{Multifactor: batch.Multifactor{JobSize: 10}}, []batch.Job{job("1", 3, 30), job("2", 4, 30)}, "1 1h30m0s, 2 1h0m0s"},
		{"favour small", batch.Slurm{Multifactor: batch.Multifactor{JobSize: 10, FavorSmall: true}}, []batch.Job{job("1", 4, 30), job("2", 3, 30)}, "1 1h30m0s, 2 1h0m0s"},
		{"age of less than one", batch.Slurm{Multifactor: batch.Multifactor{Age: 10}}, []batch.Job{
			job("1", 4, 30), job("2", 4, 30, func(j *batch.Job) { j.Submitted = now.Add(-2 * time.Hour) }),
		}, "1 1h0m0s, 2 1h30m0s"},
		{"age", batch.Slurm{Multifactor: batch.Multifactor{Age: 1000}}, []batch.Job{
			job("1", 4, 30), job("2", 4, 30, func(j *batch.Job) { j.Submitted = now.Add(-2 * time.Hour) }),
		}, "1 1h30m0s, 2 1h0m0s"},
		{"bf_max_job_user_part", batch.Slurm{MaxJobUserPart: 1}, []batch.Job{job("1", 4, 30, user), job("2", 1, 60, user), job("3", 1, 50)}, "1 1h0m0s, 2 1h30m0s, 3 0s"},
		{"bf_max_job_start: one a pass", batch.Slurm{Builtin: false, MaxJobStart: 1}, []batch.Job{wide, job("2", 1, 1), job("3", 1, 1)}, "1 1h0m0s, 2 0s, 3 1m1s"},
		{"bf_min_prio_reserve: no place below it", batch.Slurm{MinPrioReserve: 5}, []batch.Job{job("1", 4, 30, priority(4)), job("2", 1, 90, priority(3))}, "1 1h30m0s, 2 0s"},
		{"and one from it on", batch.Slurm{MinPrioReserve: 5}, []batch.Job{job("1", 4, 30, priority(5)), job("2", 1, 90, priority(3))}, "1 1h0m0s, 2 1h30m0s"},
		{"bf_min_age_reserve: no place for the young", batch.Slurm{MinAgeReserve: 2 * time.Hour}, []batch.Job{wide, job("2", 1, 90)}, "1 1h30m0s, 2 0s"},
		{"bf_max_job_array_resv: one place an array", batch.Slurm{MaxArrayReserve: 1}, []batch.Job{
			job("1", 4, 30, part), job("2", 1, 30, part), job("3", 1, 30),
		}, "1 1h0m0s, 2 1h30m0s, 3 0s"},
		{"array limit", batch.Slurm{}, []batch.Job{job("1", 1, 20, array), job("2", 1, 20, array)}, "1 0s, 2 20m0s"},
	} {
		t.Run(v.name, func(t *testing.T) {
			busy := batch.Job{ID: "r", Procs: 3, Requested: time.Hour, Started: now}
			s := batch.State{
				Now: now, Nodes: []batch.Node{{Name: "n", CPUs: 4, Up: true}}, Jobs: append([]batch.Job{busy}, v.jobs...),
				Queues: []batch.Queue{{Name: "high", Priority: 1}, {Name: "favoured", Factor: 1}},
			}
			f := batch.Forecaster{Policy: batch.Policy{Name: "slurm", Slurm: v.slurm}}
			out, err := f.Forecast(s)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.ReplaceAll(story(now, v.jobs, out), " n", ""); got != v.want {
				t.Errorf("got %s, want %s", got, v.want)
			}
		})
	}
}
