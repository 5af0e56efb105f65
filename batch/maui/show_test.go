package maui

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestWindowsHoldWhatTheySay: a job of the processors and the time that a window
// of showbf tells starts at once when it comes, where nothing is reserved for
// later, and the shortest window is the widest.
func TestWindowsHoldWhatTheySay(t *testing.T) {
	told := 0
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 11))
		nodes, jobs := crowd(rng)
		for i := range jobs {
			if jobs[i].State != JobRunning {
				jobs = jobs[:i] // those that wait come after all that run
				break
			}
		}
		c := NewConfig()
		s := New(c)
		if s.Windows() != nil {
			t.Fatal("windows before the first iteration")
		}
		s.Iterate(1000, nodes, jobs)
		last := int64(0)
		for _, w := range s.Windows() {
			told++
			if w.Span <= last || w.Procs < 1 || w.Nodes < 1 || w.Nodes > int64(len(nodes)) {
				t.Fatalf("seed %d: window %+v after one of %d s", seed, w, last)
			}
			last = w.Span
			limit := min(w.Span, 1<<30)
			ask := Job{ID: "ask", User: "u", Group: "g", Tasks: w.Procs, Limit: limit, Queued: 999}
			if got := New(c).Iterate(1000, nodes, append(jobs[:len(jobs):len(jobs)], ask)); len(got) != 1 {
				t.Errorf("seed %d: %d processors for %d s do not start in window %+v", seed, ask.Tasks, limit, w)
			}
			if first := s.Windows()[0]; first.Procs >= w.Procs {
				continue
			}
			t.Errorf("seed %d: window %+v has more than the shortest", seed, w)
		}
	}
	if told < 200 {
		t.Errorf("%d windows: too few to tell", told)
	}
}

// TestShowStart: what showstart tells of a job is when it starts if nothing else
// comes, all others taking their whole limits; asking changes nothing.
func TestShowStart(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 13))
		nodes, jobs := crowd(rng)
		for i := range jobs {
			if jobs[i].State != JobRunning {
				jobs = jobs[:i]
				break
			}
		}
		s := New(NewConfig())
		if _, ok := s.Start(Job{ID: "x", Tasks: 1, Limit: 10}); ok {
			t.Fatal("a start was told before the first iteration")
		}
		s.Iterate(1000, nodes, jobs)
		most := int64(0)
		for _, n := range nodes {
			most += n.Procs
		}
		ask := Job{ID: "ask", User: "u", Group: "g", Tasks: 1 + rng.Int64N(most), Limit: 50, Queued: 1000}
		r, ok := s.Start(ask)
		if !ok || int64(len(r.TaskList)) != ask.Tasks || r.To != r.From+50 || r.From < 1000 {
			t.Fatalf("seed %d: %+v %v", seed, r, ok)
		}
		if again, _ := s.Start(ask); again.From != r.From {
			t.Errorf("seed %d: asked twice, %d and %d", seed, r.From, again.From)
		}
		if _, ok := s.Start(Job{ID: "wide", Tasks: most + 1, Limit: 50}); ok {
			t.Errorf("seed %d: a start of what never can", seed)
		}
		if began := comes(s, nodes, jobs, ask); began != max(r.From, 1001) {
			t.Errorf("seed %d: it began at %d, told was %d", seed, began, r.From)
		}
	}
}

// comes submits a job and looks once at every end of a running one until it starts.
func comes(s *Scheduler, nodes []Node, jobs []Job, ask Job) int64 {
	for now := int64(1001); now < 3000; now++ {
		list := []Job{}
		for _, j := range jobs {
			if now < max(j.Started+j.Limit, 1001) {
				list = append(list, j)
			}
		}
		if now > 1001 && len(list) == len(jobs) {
			continue
		}
		jobs = list
		for _, a := range s.Iterate(now, nodes, append(list[:len(list):len(list)], ask)) {
			if a.Job == ask.ID {
				return now
			}
		}
	}
	return -1
}

// TestShowStartOfKnownJobs: a running job is told with its start, one with a
// reservation with that.
func TestShowStartOfKnownJobs(t *testing.T) {
	nodes := []Node{{Name: "n1", Procs: 2}}
	jobs := []Job{
		{ID: "r", User: "u", Tasks: 1, Limit: 100, Started: 950, State: JobRunning, TaskList: []string{"n1"}},
		{ID: "w", User: "u", Tasks: 2, Limit: 30, Queued: 960},
	}
	s := New(NewConfig())
	s.Iterate(1000, nodes, jobs)
	for id, want := range map[string]string{"r": "{r 950 1050 [n1]}", "w": "{w 1050 1080 [n1 n1]}"} {
		if got, ok := s.Start(Job{ID: id}); !ok || fmt.Sprint(got) != want {
			t.Errorf("%s: %v %v, want %s", id, got, ok, want)
		}
	}
	if r, ok := s.Start(Job{ID: "new", User: "u", Tasks: 1, Limit: 30}); !ok || r.From != 1000 {
		t.Errorf("a job beside them: %+v %v", r, ok)
	}
	if len(s.known) != 2 {
		t.Errorf("%d jobs are known, want 2", len(s.known))
	}
}
