package slurm_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/batch"
)

// TestRealDemands: what jobs ask of nodes is read as they asked: memory by processor, by node
// and by default, all of it, processors of each node, GPUs of a node, a task and a job, nodes
// that are named and that are not wanted, and constraints of which one feature will do.
func TestRealDemands(t *testing.T) { clusters(t, demands) }

func demands(t *testing.T, c *cluster) {
	for _, d := range []struct {
		ask  string
		want batch.Job
	}{
		{"-n8 -N1 --mem-per-cpu=10", batch.Job{Memory: 10, Nodes: 1}},
		{"-n8 -N1 --mem=800", batch.Job{Memory: 100, Nodes: 1}},
		{"-n4 -N2 --mem=800", batch.Job{Memory: 400, Nodes: 2}},
		{"-n8 -N1", batch.Job{Memory: 100, Nodes: 1}},
		{"-n2 -N1 --array=1-3%1 --mem-per-cpu=300", batch.Job{Memory: 300, Nodes: 1}},
		{"-n8 -N1 -w n3", batch.Job{Memory: 100, Nodes: 1, Within: []string{"n3"}}},
		{"-n2 -w n3,n5", batch.Job{Memory: 100, Nodes: 2, Within: []string{"n3", "n5"}}},
		{"-n4 -N4 -w n3", batch.Job{Memory: 100, Nodes: 4}},
		{"-n8 -N1 -x n[1-2],n8", batch.Job{Memory: 100, Nodes: 1, Without: []string{"n1", "n2", "n8"}}},
		{"-n6 -N2 --ntasks-per-node=3", batch.Job{Memory: 100, Nodes: 2, Each: 3}},
		{"-n2 -c3", batch.Job{Memory: 100, Each: 3}},
		{"-N2-4", batch.Job{Memory: 100, Nodes: 2}},
		{"-n24", batch.Job{Memory: 100}},
		{"-n24 -N3", batch.Job{Memory: 100, Nodes: 3}},
		{"-n24 -N1-4", batch.Job{Memory: 100, MaxNodes: 4}},
		{"-n12 -c2", batch.Job{Memory: 100, Each: 2}},
		{"-n8 --ntasks-per-node=1", batch.Job{Memory: 100, Nodes: 8}},
		{"-n8 --ntasks-per-node=4", batch.Job{Memory: 100, Nodes: 2, Each: 4}},
		{"-n2 -N1 --gres=gpu:1", batch.Job{Memory: 100, Nodes: 1, GPUs: 1}},
		{"-n2 -N1 --gpus=2", batch.Job{Memory: 100, Nodes: 1, GPUs: 2}},
		{"-n2 -N1 --gpus-per-task=1", batch.Job{Memory: 100, Nodes: 1, GPUs: 2}},
		{"-n1 -N1 --gpus=2 --cpus-per-gpu=3 --mem=600", batch.Job{Memory: 100, Nodes: 1, Each: 6, GPUs: 2}},
		{"-n1 -N1 --gres=gpu:2 --mem-per-gpu=300", batch.Job{Memory: 600, Nodes: 1, GPUs: 2}},
		{"-n8 -N1 -t 30 --time-min=10", batch.Job{Memory: 100, Nodes: 1, Least: 10 * time.Minute}},
		{"-n8 -N1 -t 30 --deadline=now+300minutes", batch.Job{Memory: 100, Nodes: 1, Deadline: time.Now()}},
		{"-n8 -N1 -C bigmem|VEE-Debian11", batch.Job{Memory: 100, Nodes: 1, Features: []string{"VEE-Debian11|bigmem"}}},
	} {
		id := strings.TrimSpace(c.command(t, append([]string{"sbatch", "--parsable", "--hold", "-p", "short", "-t", "1", "-o", "/dev/null", "--wrap", "true"}, strings.Fields(d.ask)...)...))
		t.Cleanup(func() { c.command(t, "scancel", id) })
		q, err := c.QueueReader(c.urls["ssh"])
		if err != nil {
			t.Fatal(err)
		}
		s, err := q.Queue(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		told := func(j batch.Job) string {
			return fmt.Sprint(j.Deadline.IsZero(), j.Nodes, j.MaxNodes, j.Each, j.GPUs, j.Memory, j.Within, j.Without, j.Features, j.Least)
		}
		i := slices.IndexFunc(s.Jobs, func(j batch.Job) bool { return j.ID == id || j.Array == id })
		if i < 0 {
			t.Fatalf("%s: job %s is not in the queue", d.ask, id)
		}
		if told(s.Jobs[i]) != told(d.want) {
			t.Errorf("%s: %+v, want %+v", d.ask, s.Jobs[i], d.want)
		}
	}
}
