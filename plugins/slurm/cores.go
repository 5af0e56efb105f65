package slurm

import (
	"slices"
	"strings"

	"gridbroker/batch"
)

// usualMemory is how much memory goes with each processor of jobs that do not say, in MB; 0: nothing tells.
func (c settings) usualMemory() float64 { return c.weight("DefMemPerCPU") }

// wholeCores tells whether Slurm gives jobs cores, and not their threads (slurm.conf(5),
// SelectTypeParameters).
func (c settings) wholeCores() bool { return c.selects("CR_CORE") || c.selects("CR_CORE_MEMORY") }

// selects tells whether a word is among SelectTypeParameters.
func (c settings) selects(word string) bool {
	return slices.Contains(strings.Split(strings.ToUpper(c["SelectTypeParameters"]), ","), word)
}

// widen gives waiting jobs the other threads of their cores, where all nodes of their partitions
// have several of each. usual is the memory of a processor of jobs that do not say, in MB.
func (c *cluster) widen(jobs []batch.Job, usual float64) {
	threads := map[string]int{} // by partition, the least
	for _, n := range c.nodes {
		for _, p := range list(n["Partitions"]) {
			if of := max(1, atoi(n["ThreadsPerCore"])); threads[p] == 0 || of < threads[p] {
				threads[p] = of
			}
		}
	}
	said := entriesByJob(c.jobs)
	for i := range jobs {
		j := &jobs[i]
		of := threads[j.Queue]
		for _, p := range j.Also {
			of = min(of, threads[p])
		}
		if of < 2 || !j.Started.IsZero() || j.Exclusive {
			continue
		}
		_, d, _ := c.demandOf(j.ID)
		all := max(int64(d.memory), j.Memory*int64(j.Procs))
		d.widen(j, of)
		if j.Memory > 0 && (d.threads || !d.byProcessor(said[j.ID], usual)) {
			j.Memory = max(1, all/int64(j.Procs)) // in all it stays the same
		}
	}
}

// widen gives a job the other threads of its cores, of which each has so many: as many processors as its cores have
// on each node, or, where a task or a thread of it has a core for itself (sbatch(1), --ntasks-per-core,
// --hint=nomultithread, --threads-per-core), those of these.
func (d *demand) widen(j *batch.Job, of int) {
	whole := func(procs int) int { return (procs + of - 1) / of * of }
	each, task := max(1, j.Each), j.Procs/max(1, d.tasks)
	switch {
	case d.threads:
		j.Procs, j.Each = j.Procs*of, each*of
	case d.apiece && task*d.tasks == j.Procs:
		j.Procs, j.Each = d.tasks*whole(task), max(1, each/task)*whole(task)
	case each == 1 || each*max(1, j.Nodes) == j.Procs:
		j.Each = whole(each)
		j.Procs = max(whole(j.Procs), j.Each*j.Nodes)
	default: // how many tasks are together on a node, and share cores, comes out when it gets its nodes
		j.Core = of
	}
}
