package slurm

import (
	"slices"

	"gridbroker/batch"
)

// place corrects how the processors of running jobs lie on their nodes. squeue
// tells a job's processors and nodes, "scontrol show node" how many of a node
// are given away; what jobs of one node leave of that is parted among the
// others, which is exact where one such job is on each node (see parts for the
// rest). The jobs that are exact already stay as they are.
func place(jobs []batch.Job, nodes []map[string]string, exact map[int]bool) {
	left, wide := leftOf(jobs, nodes, exact)
	// Those on the fewest nodes have the least choice.
	slices.SortStableFunc(wide, func(a, b int) int { return len(jobs[a].Placed) - len(jobs[b].Placed) })
	sharers := map[string]int{}
	for _, i := range wide {
		for _, p := range jobs[i].Placed {
			sharers[p.Node]++
		}
	}
	for _, i := range wide {
		share(&jobs[i], left, sharers)
	}
}

// leftOf is what the jobs of which it is known where they are leave of what each node has
// given away, and the places of the others.
func leftOf(jobs []batch.Job, nodes []map[string]string, exact map[int]bool) (left map[string]int, wide []int) {
	left = map[string]int{}
	for _, n := range nodes {
		left[n["NodeName"]] = atoi(n["CPUAlloc"])
	}
	for i, j := range jobs {
		switch {
		case j.Suspended:
		case len(j.Placed) == 1:
			left[j.Placed[0].Node] -= j.Procs
		case exact[i]:
			for _, p := range j.Placed {
				left[p.Node] -= p.Procs
			}
		case len(j.Placed) > 1:
			wide = append(wide, i)
		}
	}
	return left, wide
}

// share parts one job: each node's fair share of what is left there, then
// what is missing or too much where there is room.
func share(j *batch.Job, left, sharers map[string]int) {
	sum := 0
	for k, p := range j.Placed {
		j.Placed[k].Procs = max(1, left[p.Node]/max(1, sharers[p.Node]))
		sum += j.Placed[k].Procs
	}
	for k := 0; sum != j.Procs && k < len(j.Placed); k++ {
		p := &j.Placed[k]
		add := max(1-p.Procs, j.Procs-sum)
		if add > 0 {
			add = min(add, max(0, left[p.Node]-p.Procs))
		}
		p.Procs, sum = p.Procs+add, sum+add
	}
	if sum < j.Procs { // more than the nodes own to: what they say is of another moment
		j.Placed[0].Procs += j.Procs - sum
	}
	for _, p := range j.Placed {
		left[p.Node] -= p.Procs
		sharers[p.Node]--
	}
}
