package batch_test

import (
	"testing"
	"time"

	"gridbroker/batch"
)

// TestTasksOnNodes: of two nodes of four processors one is taken on each for an hour.
// Jobs whose tasks need several processors of a node have a multiple of that on it.
func TestTasksOnNodes(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	job := func(procs, nodes, each int) batch.Job {
		return batch.Job{ID: "1", Procs: procs, Nodes: nodes, Each: each, Requested: 30 * time.Minute, Submitted: now}
	}
	for _, c := range []struct {
		name string
		job  batch.Job
		want string
	}{
		{"any processors", job(6, 2, 0), "1 0s a b"},
		{"three tasks of two: the nodes have room for one each", job(6, 0, 2), "1 1h0m0s a b"},
		{"two tasks of three", job(6, 0, 3), "1 0s a b"},
		{"one of four", job(4, 0, 4), "1 1h0m0s a"},
		{"four on each of two nodes", job(8, 2, 4), "1 1h0m0s a b"},
		{"three on each", job(6, 2, 3), "1 0s a b"},
		{"more than a node has", job(5, 1, 5), "1 refused: no nodes that are up have what it asks for"},
	} {
		for _, policy := range []string{"fcfs", "easy", "conservative", "maui", "slurm"} {
			s := batch.State{Now: now, Jobs: []batch.Job{c.job}}
			for _, n := range []string{"a", "b"} {
				s.Nodes = append(s.Nodes, batch.Node{Name: n, CPUs: 4, Up: true})
				s.Jobs = append(s.Jobs, batch.Job{ID: "r" + n, Procs: 1, Requested: time.Hour, Started: now, Placed: []batch.Placement{{Node: n, Procs: 1}}})
			}
			f := batch.Forecaster{Policy: batch.Policy{Name: policy}}
			out, err := f.Forecast(s)
			if err != nil {
				t.Fatal(err)
			}
			if got := story(now, s.Jobs[:1], out); got != c.want {
				t.Errorf("%s, %s: got %s, want %s", c.name, policy, got, c.want)
			}
		}
	}
}
