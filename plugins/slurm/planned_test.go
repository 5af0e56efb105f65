package slurm

import (
	"testing"
	"time"

	"gridbroker/batch"
)

// TestAsPlanned: what has no model starts no sooner than Slurm plans, where it plans; and what
// may start ten minutes after a job that is gone waits for so long at most.
func TestAsPlanned(t *testing.T) {
	now, plan := time.Unix(1795753387, 0), "1795753500"
	for _, c := range []struct {
		name  string
		job   map[byte]string
		parts string // and nodes
		begin int64
	}{
		{"plain", nil, "PartitionName=short MaxCPUsPerNode=UNLIMITED", 0},
		{"nodes of the user's own jobs alone, not planned", map[byte]string{'h': "USER", 'S': "N/A"}, "", 0},
		{"nodes of the user's own jobs alone", map[byte]string{'h': "USER"}, "", 1795753500},
		{"blocks of nodes of the job's own", map[byte]string{'h': "TOPO"}, "", 1795753500},
		{"a part of each node", nil, "PartitionName=short MaxCPUsPerNode=4", 1795753500},
		{"a part of each node, not planned", map[byte]string{'S': "N/A"}, "PartitionName=short MaxCPUsPerNode=4", 0},
		{"two partitions of two tiers, the lower of which has further nodes", map[byte]string{'P': "low,short"}, "PartitionName=short PriorityTier=7\nPartitionName=low PriorityTier=1\nNodeName=a Partitions=short\nNodeName=b Partitions=low", 1795753500},
		{"the lower has none", map[byte]string{'P': "low,short"}, "PartitionName=short PriorityTier=7\nPartitionName=low PriorityTier=1\nNodeName=a Partitions=short,low\nNodeName=b Partitions=short", 0},
		{"one tier", map[byte]string{'P': "low,short"}, "PartitionName=short PriorityTier=1\nPartitionName=low PriorityTier=1\nNodeName=a Partitions=short\nNodeName=b Partitions=low", 0},
		{"one tier, and several nodes", map[byte]string{'P': "low,short", 'D': "2", 'C': "2"}, "PartitionName=short PriorityTier=1\nPartitionName=low PriorityTier=1\nNodeName=a Partitions=short\nNodeName=b Partitions=low", 1795753500},
		{"a type of GPU of nodes that have several", map[byte]string{'b': "gres:gpu:a:1"}, "NodeName=a Gres=gpu:a:1,gpu:b:1 Partitions=short", 1795753500},
		{"where one of its further partitions has such", map[byte]string{'b': "gres:gpu:a:1", 'P': "short,low"}, "NodeName=a Gres=gpu:a:1,gpu:b:1 Partitions=low\nNodeName=b Gres=gpu:a:1 Partitions=low,short", 1795753500},
		{"where nodes of other partitions have several", map[byte]string{'b': "gres:gpu:a:1"}, "NodeName=a Gres=gpu:a:1,gpu:b:1 Partitions=long\nNodeName=b Gres=gpu:a:1 Partitions=short", 0},
		{"of nodes that have one", map[byte]string{'b': "gres:gpu:a:1"}, "NodeName=a Gres=gpu:a:1 Partitions=short\nNodeName=b Gres=gpu:b:1 Partitions=short", 0},
		{"a feature of that name, and no GPU", map[byte]string{'f': "gpu:a"}, "NodeName=a Gres=gpu:a:1,gpu:b:1 Partitions=short", 0},
		{"not before a time, either", map[byte]string{'h': "USER", 'r': "BeginTime"}, "", 1795753500},
		{"after others, too", map[byte]string{'h': "USER", 'E': "afterany:9(unfulfilled)", 'r': "Dependency"}, "", 1795753500},
		{"nodes of one feature, as many as it takes", map[byte]string{'f': "[a|b]", 'C': "8"}, "", 1795753500},
		{"of any of them", map[byte]string{'f': "a|b", 'C': "8"}, "", 0},
		{"one node", map[byte]string{'f': "[a|b]"}, "", 0},
		{"planned for now", map[byte]string{'h': "USER", 'S': "1795753387"}, "", 0},
		{"ten minutes after one that is gone", map[byte]string{'E': "after:3+10(unfulfilled)", 'r': "Dependency"}, "", 1795753387 + 600},
		{"a part of a heterogeneous job that is not planned", map[byte]string{'i': "7+0", 'S': "N/A"}, "", 1795753387 + 30},
	} {
		fields := map[byte]string{'S': plan}
		for k, v := range c.job {
			fields[k] = v
		}
		x := cluster{jobs: []*entry{entryWith(fields)}}
		for _, r := range records(c.parts) {
			if r["NodeName"] != "" {
				x.nodes = append(x.nodes, r)
			} else {
				x.parts = append(x.parts, r)
			}
		}
		j := x.state(now, "c").Jobs[0]
		if got := j.Begin; c.begin == 0 && !got.IsZero() || c.begin > 0 && got.Unix() != c.begin {
			t.Errorf("%s: begins %v, want %d", c.name, got, c.begin)
		}
		if older := c.begin == 1795753500 && c.job['r'] == ""; j.Eligible != older {
			t.Errorf("%s: grows older %v", c.name, j.Eligible)
		}
		if want := c.job['h'] == "USER" && c.job['S'] == "N/A"; j.Exclusive != want {
			t.Errorf("%s: for itself %v", c.name, j.Exclusive)
		}
	}
}

// TestWaysOfSeveralNodes: of jobs of the same partitions those that want several nodes have no
// model where these have no node in common, and the others have, whoever is asked about first.
func TestWaysOfSeveralNodes(t *testing.T) {
	c := cluster{nodes: records("NodeName=a Partitions=p\nNodeName=b Partitions=q\n"), parts: records("PartitionName=p PriorityTier=1\nPartitionName=q PriorityTier=1\n")}
	for _, nodes := range [][]int{{1, 2, 1, 2}, {2, 1, 0}} {
		w := c.ways()
		for _, n := range nodes {
			if got := w.differ(&batch.Job{Queue: "p", Also: []string{"q"}, Nodes: n}); got != (n > 1) {
				t.Errorf("%v: of %d nodes %v", nodes, n, got)
			}
		}
	}
}

// TestSharesApart: jobs that let others have their processors are on no node with jobs that do not, so
// that one of either kind has no model where nodes of its partitions have one of the other.
func TestSharesApart(t *testing.T) {
	c := cluster{nodes: records("NodeName=n1 Partitions=p,f\nNodeName=n2 Partitions=q\n")}
	for _, runs := range []string{"YES", "OK", "NO"} {
		jobs := []batch.Job{{ID: "1", Placed: []batch.Placement{{Node: "n1", Procs: 1}}}, {ID: "2"}}
		s := c.shares(jobs, map[string]*entry{"1": {sharing: runs}})
		for _, waits := range []string{"YES", "OK", "NO", "USER"} {
			for queue, also := range map[string][]string{"p": nil, "f": {"q"}, "q": {"f"}} {
				if got := s.differ(&batch.Job{Queue: queue, Also: also}, &entry{sharing: waits}); got != (runs == "YES" != (waits == "YES")) {
					t.Errorf("%s runs, %s waits for %s %v: %v", runs, waits, queue, also, got)
				}
			}
			if s.differ(&batch.Job{Queue: "q"}, &entry{sharing: waits}) {
				t.Errorf("%s waits elsewhere", waits)
			}
		}
	}
}

// entryWith is an entry of squeue out of what differs from a plain pending job.
func entryWith(fields map[byte]string) *entry {
	row := make([]string, len(queueColumns))
	for i, letter := range []byte(queueColumns) {
		v, ok := fields[letter]
		if !ok {
			v = plainRow[letter]
		}
		row[i] = v
	}
	return entryOf(row)
}
