package batch_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gridbroker/batch"
	"gridbroker/batch/batchtest"
	"gridbroker/testdata/testbed"
)

// slow is a scheduler written to be obviously right: the plan is a list of
// stretches, every question is answered by looking at all of them.
type slow struct {
	procs    int
	policy   string
	depth    int
	now      int64
	order    int64
	waiting  []*slowJob
	running  []*slowJob
	reserved []*slowJob
	starts   map[int64]int64
	promised map[int64]int64 // places given at submission, by job
}

type slowJob struct {
	batch.Task
	start, order int64 // planned or real
}

// free is the number of processors free at t by the limits of what runs, is
// reserved or is planned, leaving out one job.
func (s *slow) free(t int64, without *slowJob) int {
	n := s.procs
	lists := [][]*slowJob{s.running, s.reserved}
	if s.policy == "conservative" {
		lists = append(lists, s.waiting)
	}
	for _, list := range lists {
		for _, j := range list {
			if j != without && j.start <= t && t < j.start+j.Limit {
				n -= j.Procs
			}
		}
	}
	return n
}

// earliest tries now and every time at which something ends.
func (s *slow) earliest(j *slowJob) int64 {
	times := []int64{s.now}
	marks := []int64{}
	for _, list := range [][]*slowJob{s.running, s.reserved, s.waiting} {
		for _, o := range list {
			if o != j {
				times = append(times, o.start+o.Limit)
				marks = append(marks, o.start)
			}
		}
	}
	slices.Sort(times)
	for _, t := range times {
		if t >= s.now && s.fits(j, t, marks) {
			return t
		}
	}
	panic("no time is early enough")
}

func (s *slow) fits(j *slowJob, t int64, marks []int64) bool {
	if s.free(t, j) < j.Procs {
		return false
	}
	return !slices.ContainsFunc(marks, func(m int64) bool {
		return m > t && m < t+j.Limit && s.free(m, j) < j.Procs
	})
}

func (s *slow) begin(j *slowJob) {
	s.order++
	j.start, j.order = s.now, s.order
	s.starts[j.ID] = s.now
	s.waiting = slices.DeleteFunc(s.waiting, func(o *slowJob) bool { return o == j })
	s.running = append(s.running, j)
}

// pass is one iteration of the policies that replan.
func (s *slow) pass() {
	s.reserved = nil
	given := 0
	for _, j := range slices.Clone(s.waiting) {
		if given >= s.depth {
			break
		}
		if t := s.earliest(j); t == s.now {
			if s.begin(j); given > 0 {
				given++
			}
		} else {
			j.start = t
			s.reserved = append(s.reserved, j)
			given++
		}
	}
	for s.policy != "fcfs" && s.backfill() {
	}
	s.reserved = nil
}

// backfill starts one job beside the reservations, if any fits. That it looks
// at all jobs again after each changes nothing: what did not fit before fits
// even less after.
func (s *slow) backfill() bool {
	list := slices.Clone(s.waiting)
	switch s.policy {
	case "easy-sjbf":
		slices.SortStableFunc(list, func(a, b *slowJob) int { return cmp.Compare(a.Limit, b.Limit) })
	case "bestfit":
		slices.SortStableFunc(list, func(a, b *slowJob) int { return cmp.Compare(b.Procs, a.Procs) })
	}
	for _, j := range list {
		if !slices.Contains(s.reserved, j) && s.earliest(j) == s.now {
			s.begin(j)
			return true
		}
	}
	return false
}

// event takes in one thing that happened: a job submitted or ended.
func (s *slow) event(submitted, ended *slowJob) {
	if submitted != nil {
		submitted.start = 1 << 50 // no place yet
		s.waiting = append(s.waiting, submitted)
	}
	if ended != nil {
		s.running = slices.DeleteFunc(s.running, func(o *slowJob) bool { return o == ended })
	}
	if s.policy != "conservative" {
		s.pass()
		return
	}
	if submitted != nil {
		s.order++
		submitted.start, submitted.order = s.earliest(submitted), s.order
		s.promised[submitted.ID] = submitted.start
		return
	}
	for _, j := range s.waiting {
		if j.start <= s.now {
			continue
		}
		if t := s.earliest(j); t < j.start {
			s.order++
			j.start, j.order = t, s.order
		}
	}
}

// due starts what is planned for now.
func (s *slow) due() {
	if s.policy != "conservative" {
		return
	}
	list := slices.Clone(s.waiting)
	slices.SortStableFunc(list, func(a, b *slowJob) int { return cmp.Compare(a.order, b.order) })
	for _, j := range list {
		if j.start == s.now {
			s.begin(j)
		}
	}
}

// replay goes through time second by second.
func (s *slow) replay(tasks []batch.Task) map[int64]int64 {
	s.starts, s.promised = map[int64]int64{}, map[int64]int64{}
	for len(tasks) > 0 || len(s.waiting) > 0 || len(s.running) > 0 {
		for len(tasks) > 0 && tasks[0].Submit == s.now {
			s.event(&slowJob{Task: tasks[0]}, nil)
			tasks = tasks[1:]
		}
		for _, j := range slices.Clone(s.running) {
			if j.start+j.Run == s.now {
				s.event(nil, j)
			}
		}
		s.due()
		s.now++
	}
	return s.starts
}

// workload is a small random one with many ties.
func workload(rng *rand.Rand, n, procs int) (tasks []batch.Task) {
	at := int64(0)
	for i := range n {
		at += rng.Int64N(6) * rng.Int64N(3)
		limit := 1 + rng.Int64N(40)
		tasks = append(tasks, batch.Task{
			ID: int64(i + 1), Submit: at, Limit: limit, Run: 1 + rng.Int64N(limit), Procs: 1 + rng.IntN(procs), User: rng.Int64N(3),
		})
		if rng.IntN(3) == 0 {
			tasks[i].Run = limit
		}
	}
	return tasks
}

// oracleCases are the policies the slow scheduler knows.
func oracleCases() map[string]batch.Policy {
	return map[string]batch.Policy{
		"fcfs 1": {Name: "fcfs"}, "easy 1": {Name: "easy"}, "conservative 1": {Name: "conservative"},
		"easy-sjbf 1": {Name: "easy-sjbf"}, "maui 1": {Name: "maui"},
		"maui 3":      {Name: "maui", Maui: batch.Maui{ReservationDepth: 3}},
		"maui 100000": {Name: "maui", Maui: batch.Maui{ReservationDepth: batch.Unlimited}},
		"bestfit 1":   {Name: "maui", Maui: batch.Maui{Backfill: "BESTFIT"}},
		"fcfs 2":      {Name: "maui", Maui: batch.Maui{Backfill: "NONE", ReservationDepth: 2}},
		"bestfit 2":   {Name: "maui", Maui: batch.Maui{Backfill: "BESTFIT", ReservationDepth: 2}},
	}
}

func TestOracle(t *testing.T) {
	testbed.Computes(t)
	for name, policy := range oracleCases() {
		t.Run(name, func(t *testing.T) {
			for seed := range testbed.Seeds(15, 40) {
				rng := rand.New(rand.NewPCG(seed, 7))
				procs := 1 + rng.IntN(12)
				compare(t, name, policy, workload(rng, 60, procs), procs)
			}
		})
	}
}

func compare(t *testing.T, name string, policy batch.Policy, tasks []batch.Task, procs int) {
	t.Helper()
	s := slow{procs: procs}
	if _, err := fmt.Sscan(name, &s.policy, &s.depth); err != nil {
		t.Fatal(err)
	}
	want := s.replay(tasks)
	got := replay(t, tasks, procs, policy)
	for _, j := range tasks {
		if got[j.ID] != want[j.ID] {
			t.Fatalf("%s on %d processors: job %d starts at %d, want %d", name, procs, j.ID, got[j.ID], want[j.ID])
		}
		if p, ok := s.promised[j.ID]; ok && got[j.ID] > p {
			t.Fatalf("job %d starts at %d, had the place %d", j.ID, got[j.ID], p)
		}
	}
}

// FuzzEngine checks what must hold whatever comes: the machine is never
// overfull, no job starts before it is submitted, and the slow scheduler
// agrees (so the head of EASY's queue is not delayed); under FCFS jobs start in
// order; under conservative backfill none starts later than the place it got
// when it was submitted.
func FuzzEngine(f *testing.F) {
	f.Add(uint64(1), uint8(4), uint8(30))
	f.Fuzz(func(t *testing.T, seed uint64, procs, jobs uint8) {
		rng := rand.New(rand.NewPCG(seed, 1))
		p := int(procs%64) + 1
		tasks := workload(rng, int(jobs%80)+1, p)
		for name, policy := range oracleCases() {
			compare(t, name, policy, tasks, p)
			starts := replay(t, tasks, p, policy)
			overfull(t, tasks, starts, p)
			if name == "fcfs 1" && !slices.IsSorted(starts) {
				t.Fatal("first come is not first served")
			}
		}
	})
}

// overfull checks capacity at every start.
func overfull(t *testing.T, tasks []batch.Task, starts []int64, procs int) {
	t.Helper()
	for _, j := range tasks {
		at, used := starts[j.ID], 0
		if at < j.Submit {
			t.Fatalf("job %d starts %d s before it is submitted", j.ID, j.Submit-at)
		}
		for _, o := range tasks {
			if s := starts[o.ID]; s <= at && at < s+o.Run {
				used += o.Procs
			}
		}
		if used > procs {
			t.Fatalf("%d of %d processors in use at %d", used, procs, at)
		}
	}
}

// TestGenerated compares the policies on a generated trace of the repository.
func TestGenerated(t *testing.T) {
	testbed.Computes(t)
	tasks, procs := batchtest.Load(t, "../testdata/traces/lublin-64.swf")
	for name, policy := range oracleCases() {
		t.Run(name, func(t *testing.T) { compare(t, name, policy, tasks, procs) })
	}
}
