package slurm

import (
	"testing"
	"time"
)

// TestCompletingHasEnded: a job whose epilogue runs has given back what it had, whatever its limit. As a 22.05 told it: of n8's eight processors
// two are allocated, to a job on two nodes that has two more; who wants six began when the epilogue of 69 was over, and Slurm planned it at once.
func TestCompletingHasEnded(t *testing.T) {
	const now = 1796050678
	row := func(id, state, cpus, nodes, list string) *entry {
		return entryWith(map[byte]string{'i': id, 'T': state, 'C': cpus, 'D': nodes, 'N': list, 'P': "long", 'S': "1796050669", 'l': "2-00:00:00", 'm': "10M"})
	}
	c := cluster{parts: records("PartitionName=long State=UP MaxTime=3-00:00:00\n"),
		nodes: records("NodeName=n7 CPUTot=8 CPUAlloc=2 RealMemory=16000 State=MIXED Partitions=long\nNodeName=n8 CPUTot=8 CPUAlloc=2 RealMemory=16000 State=MIXED+COMPLETING Partitions=long\n"),
		jobs:  []*entry{row("69", "COMPLETING", "4", "1", "n8"), row("68", "STAGE_OUT", "4", "1", "n7"), row("70", "RUNNING", "4", "2", "n[7-8]"), row("72", "PENDING", "6", "1", "")}}
	c.asked = map[string]demand{"72": {nodes: 1, even: true}}
	s := c.state(time.Unix(now, 0), "c")
	if len(s.Jobs) != 2 || len(s.Jobs[0].Placed) != 2 || s.Jobs[0].Placed[0].Procs != 2 || s.Jobs[0].Placed[1].Procs != 2 {
		t.Fatalf("%+v", s.Jobs)
	}
	if _, starts := foretold(t, s); starts["72"] != 0 {
		t.Errorf("started at once, foretold %v", starts)
	}
}
