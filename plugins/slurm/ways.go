package slurm

import (
	"slices"
	"strings"

	"gridbroker/batch"
)

// ways are the partitions of jobs that name several. Slurm puts such a job in the queue once for
// each, with the tier, the factor and the nodes of that alone.
type ways struct {
	tiers map[string]float64 // with a part of one for the factor, where that weighs
	nodes [][]string         // partitions of each
	known map[string]bool    // by the partitions of a job
}

func (c *cluster) ways() ways {
	w := ways{tiers: make(map[string]float64, len(c.parts)), known: map[string]bool{}}
	for _, p := range c.parts {
		w.tiers[p["PartitionName"]] = float64(atoi(p["PriorityTier"]))
		if c.set.partition > 0 {
			w.tiers[p["PartitionName"]] += float64(atoi(p["PriorityJobFactor"])) / (1 << 17) // of 16 bits
		}
	}
	for _, n := range c.nodes {
		w.nodes = append(w.nodes, list(n["Partitions"]))
	}
	return w
}

// differ tells whether a job cannot be taken to wait in the first of its partitions for the
// nodes of all: where another has further nodes at a lower tier or factor, or the job might span both.
func (w ways) differ(j *batch.Job) bool {
	if len(j.Also) == 0 {
		return false
	}
	key := strings.Join(append([]string{j.Queue}, j.Also...), ",")
	if j.Nodes > 1 {
		key += " several"
	}
	differ, ok := w.known[key]
	if ok {
		return differ
	}
	for _, parts := range w.nodes {
		further := !slices.Contains(parts, j.Queue) && slices.ContainsFunc(j.Also, func(p string) bool {
			return slices.Contains(parts, p) && (j.Nodes > 1 || w.tiers[p] < w.tiers[j.Queue])
		})
		differ = differ || further
	}
	w.known[key] = differ
	return differ
}
