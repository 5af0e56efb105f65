package batch_test

import (
	"testing"
	"time"

	"gridbroker/batch"
)

// TestLines: two partitions of one node each, and one of both. Node a is taken
// for ten hours. A job that waits for it holds up those behind it in its own
// partition, and no others.
func TestLines(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	nodes := []batch.Node{{Name: "a", CPUs: 4, Up: true, Queues: []string{"p1", "all"}}, {Name: "b", CPUs: 4, Up: true, Queues: []string{"p2", "all"}}}
	busy := func(id, node string, procs int, left time.Duration) batch.Job {
		return batch.Job{ID: id, Procs: procs, Requested: left, Started: now, Placed: []batch.Placement{{Node: node, Procs: procs}}}
	}
	job := func(id, queue string, procs int, hours int) batch.Job {
		return batch.Job{ID: id, Queue: queue, Procs: procs, Requested: time.Duration(hours) * time.Hour, Submitted: now}
	}
	for _, v := range []struct {
		name, policy, want string
		jobs               []batch.Job
	}{
		{"another partition's job starts", "fcfs", "1 10h0m0s a, 2 0s b", []batch.Job{job("1", "p1", 4, 1), job("2", "p2", 4, 1)}},
		{"order within a partition", "fcfs", "1 0s b, 2 2h0m0s b, 3 3h0m0s b", []batch.Job{job("1", "p2", 3, 2), job("2", "p2", 4, 1), job("3", "p2", 1, 1)}},
		{"each has a reservation", "easy", "1 10h0m0s a, 2 0s b, 3 1h0m0s b, 4 2h0m0s b", []batch.Job{
			job("1", "p1", 4, 1), job("2", "p2", 3, 1), job("3", "p2", 4, 1), job("4", "p2", 1, 9),
		}},
		// 2 waits for both nodes; 3, of the node b alone, does not delay it, 4 would
		{"nodes shared", "easy", "1 10h0m0s a, 2 11h0m0s a b, 3 0s b, 4 12h0m0s b", []batch.Job{
			job("1", "p1", 4, 1), job("2", "all", 8, 1), job("3", "p2", 4, 10), job("4", "p2", 4, 2),
		}},
	} {
		t.Run(v.name, func(t *testing.T) {
			s := batch.State{
				Now: now, Nodes: nodes, Queues: []batch.Queue{{Name: "p1"}, {Name: "p2"}, {Name: "all"}},
				Jobs: append([]batch.Job{busy("r", "a", 4, 10*time.Hour)}, v.jobs...),
			}
			f := batch.Forecaster{Policy: batch.Policy{Name: v.policy}}
			out, err := f.Forecast(s)
			if err != nil {
				t.Fatal(err)
			}
			if got := story(now, v.jobs, out); got != v.want {
				t.Errorf("got  %s\nwant %s", got, v.want)
			}
		})
	}
}
