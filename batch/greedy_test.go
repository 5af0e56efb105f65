package batch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/testdata/testbed"
)

// worth is a job's by a BACKFILLMETRIC.
func worth(metric string, j batch.Job) int64 {
	seconds := int64(j.Requested / time.Second)
	switch metric {
	case "SECONDS":
		return seconds
	case "PROCSECONDS":
		return seconds * int64(j.Procs)
	}
	return int64(j.Procs)
}

// greedy is an iteration of GREEDY on slow nodes: the first jobs start while they
// fit, the first of each line that do not have reservations; of the sets of the others
// that fit beside these, in depth-first order, the first of the greatest worth starts.
func (s *slowNodes) greedy(depth int, metric string) {
	s.places = nil
	given := map[string]int{}
	for i := 0; i < len(s.waiting); {
		j := s.waiting[i]
		line := s.line(j)
		at, on := int64(-1), map[string]int(nil)
		if given[line] < depth {
			at, on = s.earliest(j)
		}
		if at == s.now {
			if s.start(i, on); given[line] > 0 {
				given[line]++
			}
			continue
		}
		if at > s.now {
			s.places = append(s.places, slowHeld{job: j, from: at, to: at + s.limit(j), on: on})
			given[line]++
		}
		i++
	}
	var list []batch.Job
	for _, j := range s.waiting {
		if !slices.ContainsFunc(s.places, func(h slowHeld) bool { return h.job.ID == j.ID }) {
			list = append(list, j)
		}
	}
	best, total := []batch.Job(nil), int64(0)
	s.sets(list, nil, 0, metric, &best, &total)
	for _, j := range best {
		i := slices.IndexFunc(s.waiting, func(o batch.Job) bool { return o.ID == j.ID })
		s.start(i, s.fit(j, s.now))
	}
	s.places = nil
}

// sets goes through all sets of jobs that fit now, each with those chosen before.
func (s *slowNodes) sets(list, chosen []batch.Job, sum int64, metric string, best *[]batch.Job, total *int64) {
	if sum > *total {
		*best, *total = slices.Clone(chosen), sum
	}
	for i, j := range list {
		on := s.fit(j, s.now)
		if on == nil {
			continue
		}
		s.running = append(s.running, slowHeld{job: j, from: s.now, to: s.now + s.limit(j), on: on})
		s.sets(list[i+1:], append(slices.Clone(chosen), j), sum+worth(metric, j), metric, best, total)
		s.running = s.running[:len(s.running)-1]
	}
}

// TestGreedyOracle compares starts under BACKFILLPOLICY GREEDY, and in nearly all cases
// their nodes, with those of a scheduler that tries all sets of jobs.
func TestGreedyOracle(t *testing.T) {
	testbed.Computes(t)
	started, unlike, elsewhere := 0, 0, 0
	for seed := range uint64(1200) {
		s := plainScene(seed)
		metric, depth := []string{"PROCS", "SECONDS", "PROCSECONDS"}[seed%3], 1+int(seed/3%2)
		p := batch.Policy{Name: "maui", Maui: batch.Maui{Backfill: "GREEDY", Metric: metric, ReservationDepth: depth}}
		slow := slowNodes{state: s, policy: p, now: s.Now.Unix(), waiting: slices.Clone(s.Jobs)}
		for slow.greedy(depth, metric); len(slow.running) > 0; slow.greedy(depth, metric) {
			next := slow.first(func(h slowHeld) int64 { return h.to }, slow.running)
			slow.now = slow.running[next].to
			slow.running = slices.Delete(slow.running, next, next+1)
		}
		f := batch.Forecaster{Policy: p}
		got, err := batch.Placed(&f, s)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(slow.starts)
		if started += len(got); !slices.Equal(times(got), times(slow.starts)) {
			t.Fatalf("seed %d, %v:\n%v\nwant\n%v", seed, p, got, slow.starts)
		}
		if !slices.Equal(got, slow.starts) {
			elsewhere++
		}
		f.Policy.Maui.Backfill = ""
		if first, err := batch.Placed(&f, s); err != nil || fmt.Sprint(first) != fmt.Sprint(got) {
			unlike++
		}
	}
	if started < 5000 || unlike < 30 || elsewhere > 3 { // a reservation stays where it is, which made anew would be elsewhere
		t.Errorf("only %d starts compared, %d schedules unlike FIRSTFIT's, %d on other nodes", started, unlike, elsewhere)
	}
}

// times are lines without the nodes.
func times(lines []string) (list []string) {
	for _, l := range lines {
		at, _, _ := strings.Cut(l, " map[")
		list = append(list, at)
	}
	return list
}
