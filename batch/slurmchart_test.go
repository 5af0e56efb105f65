package batch_test

import (
	"testing"
	"time"

	"gridbroker/batch"
)

// Slurm makes places as its recorded plans show it. Times are seconds from 20 s past a
// minute; each scene tells what starts by the rule, and not by places at each end.
func TestSlurmChart(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	second := func(n int) time.Duration { return time.Duration(n) * time.Second }
	run := func(id, node string, procs, left int) batch.Job {
		return batch.Job{ID: id, Procs: procs, Requested: second(left), Submitted: now, Started: now, Placed: []batch.Placement{{Node: node, Procs: procs}}}
	}
	wait := func(id string, procs, limit int) batch.Job {
		return batch.Job{ID: id, Procs: procs, Requested: second(limit), Submitted: now}
	}
	task := func(id string) batch.Job {
		j := wait(id, 3, 600)
		j.Array, j.ArrayLimit = "a", 1
		return j
	}
	for _, c := range []struct {
		name  string
		nodes int
		slurm batch.Slurm
		runs  []batch.Job
		jobs  []batch.Job
		want  string
	}{
		{
			"with an end go those until the second half minute behind it", 1, batch.Slurm{},
			[]batch.Job{run("a", "n1", 2, 570), run("b", "n1", 1, 585)}, []batch.Job{wait("1", 3, 1800), wait("2", 1, 575)}, "1 9m35s n1, 2 0s n1",
		},
		{
			"ends are rounded down", 2, batch.Slurm{},
			[]batch.Job{run("a", "n1", 4, 100), run("b", "n2", 1, 1000)}, []batch.Job{wait("1", 4, 90), wait("2", 7, 60), wait("3", 1, 180)}, "1 1m40s n1, 2 3m10s n1 n2, 3 4m10s n2",
		},
		{
			"or up", 2, batch.Slurm{Recent: true},
			[]batch.Job{run("a", "n1", 4, 100), run("b", "n2", 1, 1000)}, []batch.Job{wait("1", 4, 90), wait("2", 6, 60), wait("3", 1, 180)}, "1 1m40s n1, 2 3m10s n1 n2, 3 0s n2",
		},
		{
			"jobs that the limit of their array parks have places, too", 2, batch.Slurm{},
			[]batch.Job{run("a", "n1", 3, 100), run("b", "n2", 3, 100)}, []batch.Job{task("1"), task("2"), wait("3", 1, 180)}, "1 1m40s n1, 2 11m40s n1, 3 1m40s n1",
		},
	} {
		s := batch.State{Now: now, Jobs: append(c.runs, c.jobs...)}
		for _, name := range []string{"n1", "n2"}[:c.nodes] {
			s.Nodes = append(s.Nodes, batch.Node{Name: name, CPUs: 4, Up: true})
		}
		forecast := func(p batch.Slurm) string {
			f := batch.Forecaster{Policy: batch.Policy{Name: "slurm", Slurm: p}}
			out, err := f.Forecast(s)
			if err != nil {
				t.Fatal(c.name, err)
			}
			return story(now, c.jobs, out)
		}
		if got := forecast(c.slurm); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
		if c.name != "or up" && forecast(batch.Fine(c.slurm)) == c.want {
			t.Errorf("%s: places at each end say the same", c.name)
		}
	}
}
