package slurm

import (
	"strings"

	"gridbroker/batch"
)

// wholeCores tells whether Slurm gives jobs cores, and not their threads (slurm.conf(5),
// SelectTypeParameters).
func (c settings) wholeCores() bool {
	for word := range strings.SplitSeq(strings.ToUpper(c["SelectTypeParameters"]), ",") {
		if word == "CR_CORE" || word == "CR_CORE_MEMORY" {
			return true
		}
	}
	return false
}

// widen gives waiting jobs the other threads of their cores, where all nodes of their partitions
// have several of each: as many processors as their cores have on each node, or, where a task or a
// thread of theirs has a core for itself (sbatch(1), --hint=nomultithread, --threads-per-core,
// --ntasks-per-core), so many for each of theirs. What they ask of memory stays the same.
func (c *cluster) widen(jobs []batch.Job) {
	threads := map[string]int{} // by partition, the least
	for _, n := range c.nodes {
		for _, p := range list(n["Partitions"]) {
			if of := max(1, atoi(n["ThreadsPerCore"])); threads[p] == 0 || of < threads[p] {
				threads[p] = of
			}
		}
	}
	for i := range jobs {
		j := &jobs[i]
		of := threads[j.Queue]
		for _, p := range j.Also {
			of = min(of, threads[p])
		}
		if of < 2 || !j.Started.IsZero() || j.Exclusive {
			continue
		}
		d, ok := c.asked[j.ID]
		if !ok {
			d = c.asked[j.Array]
		}
		was := j.Procs
		if d.alone {
			j.Procs, j.Each = j.Procs*of, max(1, j.Each)*of
		} else if j.Each <= 1 || j.Each == j.Procs {
			j.Procs = (max(j.Procs, of*j.Nodes) + of - 1) / of * of
			j.Each = (max(1, j.Each) + of - 1) / of * of
		}
		if j.Memory > 0 {
			j.Memory = max(1, j.Memory*int64(was)/int64(j.Procs))
		}
	}
}
