package batch

import (
	"fmt"
	"testing"
	"time"
)

// TestSlurmDepth: how far a pass goes is what a Slurm 22.05 showed, by the jobs that had
// a start in "squeue --start" after a pass of it, on eight nodes that each ran a job of
// a multiple of seven minutes: by bf_node_space_size, with twelve jobs of one to three
// nodes; by bf_max_job_test, which is the size of that table as well, and
// bf_max_job_user, with six jobs of one user for all nodes ahead of three of others. The
// job at which the table is full was shown a start, and kept no nodes.
func TestSlurmDepth(t *testing.T) {
	for size, shown := range map[int]int{2: 2, 3: 2, 4: 3, 5: 4, 6: 4, 8: 6, 10: 7, 12: 9, 14: 10, 16: 12, 18: 12, 24: 12} {
		s := depthState(7)
		for i, minutes := range []int{11, 5, 40, 23, 17, 31, 9, 55, 13, 3, 47, 29} {
			s.waits("", 1+(i+1)%3, minutes)
		}
		depthIs(t, fmt.Sprint("bf_node_space_size ", size), s, Slurm{MaxJobTest: 1000, NodeSpace: size}, shown)
	}
	for _, c := range []struct{ test, user, shown int }{
		{1, 0, 1}, {2, 0, 2}, {3, 0, 2}, {5, 0, 4}, {1, 1, 1}, {3, 1, 2}, {4, 1, 3}, {8, 1, 4}, {4, 2, 3},
	} {
		s := depthState(0)
		for i := range 9 {
			s.waits(fmt.Sprint("user", max(0, i-5)), 8, 50)
		}
		depthIs(t, fmt.Sprint("bf_max_job_test ", c.test, " bf_max_job_user ", c.user), s, Slurm{MaxJobTest: c.test, MaxJobUser: c.user}, c.shown)
	}
}

// depthScene is what the Slurm was asked about.
type depthScene struct{ State }

// depthState is eight nodes, each with a job that lasts so many minutes longer than the
// one before, or fifty.
func depthState(minutes int) *depthScene {
	s := &depthScene{State{Now: time.Date(2026, 11, 26, 17, 59, 35, 0, time.UTC), Queues: []Queue{{Name: "short"}}}}
	for i := range 8 {
		name, limit := fmt.Sprint("n", i+1), time.Duration(minutes*(i+1))*time.Minute
		if minutes == 0 {
			limit = 50 * time.Minute
		}
		s.Nodes = append(s.Nodes, Node{Name: name, CPUs: 8, Up: true, Queues: []string{"short"}})
		s.Jobs = append(s.Jobs, Job{ID: "r" + name, Queue: "short", Procs: 8, Requested: limit, Started: s.Now.Add(-10 * time.Second), Placed: []Placement{{name, 8}}})
	}
	return s
}

// waits adds a job for whole nodes.
func (s *depthScene) waits(user string, nodes, minutes int) {
	s.Jobs = append(s.Jobs, Job{
		ID: fmt.Sprint("w", len(s.Jobs)), User: user, Queue: "short", Procs: 8 * nodes, Nodes: nodes,
		Requested: time.Duration(minutes) * time.Minute, Submitted: s.Now.Add(-5 * time.Second),
	})
}

func depthIs(t *testing.T, what string, s *depthScene, p Slurm, shown int) {
	t.Helper()
	m := passing(t, s.State, p, 0).m
	policy := m.policy.(*slurm)
	policy.pass(m)
	c := policy.chart
	got := len(c.places)
	if c.full {
		got++
	}
	if got != shown {
		t.Errorf("%s: %d jobs are shown a start, Slurm shows %d", what, got, shown)
	}
}

// TestSlurmGroups: what a Slurm 22.05 and a 24.11 said of when one job could start that asks for more
// and more nodes, where the jobs on eight (or seven, and one is free) end a minute, three
// minutes or seven apart: the later, the more ends are one.
func TestSlurmGroups(t *testing.T) {
	for _, c := range []struct {
		ends   []string
		starts []int // behind which of them, by how many nodes more than are free
	}{
		{[]string{"18:17:59", "18:18:59", "18:20:01", "18:21:01", "18:22:01", "18:23:01", "18:24:01", "18:25:01"}, []int{1, 2, 4, 4, 8, 8, 8, 8}},
		{[]string{"18:21:25", "18:24:25", "18:27:28", "18:30:28", "18:33:28", "18:36:28", "18:39:28", "18:42:28"}, []int{1, 2, 3, 6, 6, 6, 8, 8}},
		{[]string{"18:24:43", "18:31:44", "18:38:46", "18:45:46", "18:52:46", "18:59:46", "19:06:46"}, []int{1, 2, 3, 5, 5, 7, 7}},
		{[]string{"18:26:18", "18:27:18", "18:28:18", "18:29:21", "18:30:21", "18:31:21", "18:32:21", "18:33:21"}, []int{1, 2, 3, 5, 5, 8, 8, 8}},
		{[]string{"18:29:51", "18:32:52", "18:35:52", "18:38:52", "18:41:52", "18:44:52", "18:47:54", "18:50:54"}, []int{1, 2, 3, 6, 6, 6, 8, 8}},
		{[]string{"18:33:05", "18:40:06", "18:47:06", "18:54:06", "19:01:06", "19:08:06", "19:15:08"}, []int{1, 2, 3, 5, 5, 7, 7}},
	} {
		for i, behind := range c.starts {
			s := depthState(0)
			for n, end := range c.ends {
				at, err := time.Parse(time.TimeOnly, end)
				if err != nil {
					t.Fatal(err)
				}
				y, m, d := s.Now.Date()
				s.Jobs[n].Requested = 2 * time.Hour
				s.Jobs[n].Started = time.Date(y, m, d, at.Hour(), at.Minute(), at.Second(), 0, time.UTC).Add(-s.Jobs[n].Requested)
			}
			s.Now, s.Jobs = s.Now.Add(9*time.Minute), s.Jobs[:len(c.ends)]
			s.waits("", i+1+8-len(c.ends), 3)
			m := passing(t, s.State, Slurm{}, 0).m
			policy := m.policy.(*slurm)
			policy.pass(m)
			want := s.Jobs[behind-1].Started.Add(s.Jobs[behind-1].Requested).Truncate(time.Minute).Unix()
			if got := policy.chart.places; len(got) != 1 || got[0].from != want {
				t.Errorf("ends %v, %d nodes more: %v, want one place at %d", c.ends, i+1, got, want)
			}
		}
	}
}

// TestSlurmArrayLimits: where the job behind an array of six (or five, and one runs) has
// its place, of which two may run at once and each asks for a node for two minutes. A
// Slurm 22.05 gives all of the array places; a 24.11 as many as its limit leaves.
func TestSlurmArrayLimits(t *testing.T) {
	ends := []string{"18:29:57", "18:33:57", "18:37:57", "18:41:57", "18:45:57", "18:49:57", "18:53:57", "18:58:00"}
	for _, c := range []struct {
		recent bool
		runs   int // of the array, on the last node, until 18:25:18
		want   string
	}{
		{false, 0, "18:37:00"}, {true, 0, "18:33:00"}, {false, 1, "18:32:00"}, {true, 1, "18:28:00"},
	} {
		s := depthState(0)
		y, month, d := s.Now.Date()
		s.Now = time.Date(y, month, d, 18, 24, 20, 0, time.UTC)
		if c.runs > 0 {
			ends = []string{"18:30:13", "18:34:13", "18:38:13", "18:42:15", "18:46:15", "18:50:15", "18:54:15", "18:25:18"}
		}
		for n, end := range ends {
			at, err := time.Parse(time.TimeOnly, end)
			if err != nil {
				t.Fatal(err)
			}
			s.Jobs[n].Requested = 2 * time.Hour
			s.Jobs[n].Started = time.Date(y, month, d, at.Hour(), at.Minute(), at.Second(), 0, time.UTC).Add(-s.Jobs[n].Requested)
		}
		for k := range 6 - c.runs {
			s.waits("", 1, 2)
			j := &s.Jobs[len(s.Jobs)-1]
			j.ID, j.Array, j.ArrayLimit = fmt.Sprint("a_", k+1), "a", 2
		}
		if c.runs > 0 {
			s.Jobs[7].Array, s.Jobs[7].ArrayLimit = "a", 2
		}
		s.waits("", 1, 2)
		m := passing(t, s.State, Slurm{Recent: c.recent}, 0).m
		policy := m.policy.(*slurm)
		policy.pass(m)
		places := policy.chart.places
		if got := time.Unix(places[len(places)-1].from, 0).UTC().Format(time.TimeOnly); got != c.want {
			t.Errorf("recent %v, %d of the array run: the job behind it is placed at %s, want %s: %v", c.recent, c.runs, got, c.want, places)
		}
	}
}
