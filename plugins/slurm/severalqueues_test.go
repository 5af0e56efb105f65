package slurm

import (
	"testing"

	"gridbroker/batch"
)

// TestPriorityOfSeveral: a job of several partitions has the priority that it has in the first of them. Both Slurms told
// 100 of jobs of main and low, what they have in low, where Slurm tried them last, and planned each as with
// 1000, before all of low.
func TestPriorityOfSeveral(t *testing.T) {
	for _, dir := range []string{"testdata/several", "testdata/several24"} {
		s := taped(t, dir)
		n := 0
		for _, j := range s.Jobs {
			if len(j.Also) == 0 {
				continue
			}
			if n++; j.Priority != 1000 || j.Queue != "main" {
				t.Errorf("%s: %s has priority %v in %s", dir, j.ID, j.Priority, j.Queue)
			}
		}
		if n != 6 {
			t.Errorf("%s: %d jobs of several partitions", dir, n)
		}
	}
	queues := []batch.Queue{{Name: "main", Factor: 1, Priority: 1}, {Name: "low", Factor: .1, Priority: 1}, {Name: "top", Factor: .1, Priority: 2}}
	for _, c := range []struct {
		queue, also, names, reason string
		said, want                 float64
	}{
		{"main", "low", "main,low", "None", 1000, 1000}, // not tried yet
		{"main", "low", "low,main", "None", 100, 1000},
		{"main", "low", "low,main", "Priority", 100, 1000},
		{"top", "main", "main,top", "Resources", 1000, 100}, // of the higher tier, whatever its factor
		{"main", "low", "main,low", "JobHeldUser", 0, 0},
	} {
		jobs := []batch.Job{{ID: "1", Queue: c.queue, Also: []string{c.also}, Priority: c.said}}
		x := cluster{set: set{partition: 1000}}
		x.inBestQueue(jobs, queues, map[string]*entry{"1": {state: "PENDING", partitions: c.names, reason: c.reason}})
		if jobs[0].Priority != c.want {
			t.Errorf("%+v: %v", c, jobs[0].Priority)
		}
	}
}

// TestWaysByFactor: nodes that a job has in a partition of a lesser factor alone it has with less priority, where
// factors weigh.
func TestWaysByFactor(t *testing.T) {
	for weight, want := range map[float64]bool{0: false, 1000: true} {
		c := cluster{set: set{partition: weight}, nodes: records("NodeName=a Partitions=p,q\nNodeName=b Partitions=q\n"),
			parts: records("PartitionName=p PriorityTier=1 PriorityJobFactor=10\nPartitionName=q PriorityTier=1 PriorityJobFactor=1\n")}
		if got := c.ways().differ(&batch.Job{Queue: "p", Also: []string{"q"}}); got != want {
			t.Errorf("weight %v: %v", weight, got)
		}
	}
}
