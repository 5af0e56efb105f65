package slurm

import (
	"testing"
	"time"
)

// TestCompany: a job that shares its nodes with jobs of its own user alone is foretold as any other where it can meet no others,
// and as it was planned, or as if alone on its nodes, where it can.
func TestCompany(t *testing.T) {
	now := time.Unix(1795753387, 0)
	nodes := records("NodeName=a Partitions=short,low CPUTot=8 RealMemory=9 State=IDLE\nNodeName=b Partitions=far CPUTot=8 RealMemory=9 State=IDLE\n")
	for _, c := range []struct {
		name  string
		other map[byte]string
		hides bool
		kept  bool
	}{
		{"all are of one user", map[byte]string{'P': "low"}, false, false},
		{"another's runs nowhere near", map[byte]string{'P': "far", 'u': "v", 'T': "RUNNING", 'S': "1795753300", 'N': "b"}, false, false},
		{"another's waits for a partition with the same nodes", map[byte]string{'P': "low", 'u': "v"}, false, true},
		{"another's waits for that, too", map[byte]string{'P': "far,low", 'u': "v"}, false, true},
		{"another's runs there", map[byte]string{'P': "low", 'u': "v", 'T': "RUNNING", 'S': "1795753300", 'N': "a"}, false, true},
		{"jobs of others are not shown", map[byte]string{'P': "low"}, true, true},
	} {
		other := map[byte]string{'i': "2"}
		for letter, value := range c.other {
			other[letter] = value
		}
		x := cluster{nodes: nodes, set: set{hides: c.hides}, jobs: []*entry{entryWith(map[byte]string{'i': "1", 'h': "USER", 'S': "1795753500"}), entryWith(map[byte]string{'i': "3", 'h': "USER"}), entryWith(other)}}
		jobs := x.state(now, "c").Jobs
		if begins, alone := !jobs[0].Begin.IsZero(), jobs[1].Exclusive; begins != c.kept || alone != c.kept {
			t.Errorf("%s: begins as planned %v, is alone on its nodes %v", c.name, begins, alone)
		}
	}
}
