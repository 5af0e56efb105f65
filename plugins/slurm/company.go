package slurm

import (
	"slices"

	"gridbroker/batch"
)

// company is who has jobs, that run or wait, in the partitions that have nodes in common with each; nil: that is not known.
type company map[string]map[string]bool

// company finds out who might be on a node with a job that shares its nodes with jobs of its own user alone.
func (c *cluster) company(jobs []batch.Job) company {
	if c.set.hides || !slices.ContainsFunc(c.jobs, func(e *entry) bool { return e.waits() && e.sharing == "USER" }) {
		return nil
	}
	in, together := map[string]map[string]bool{}, map[[2]string]bool{}
	note := func(of map[string]map[string]bool, queue, user string) {
		if of[queue] == nil {
			of[queue] = map[string]bool{}
		}
		of[queue][user] = true
	}
	for i := range jobs {
		for _, queue := range append([]string{jobs[i].Queue}, jobs[i].Also...) {
			note(in, queue, jobs[i].User)
		}
	}
	for _, n := range c.nodes {
		queues := list(n["Partitions"])
		for _, a := range queues {
			for _, b := range queues {
				together[[2]string{a, b}] = true
			}
		}
	}
	all := company{}
	for pair := range together {
		for user := range in[pair[1]] {
			note(all, pair[0], user)
		}
	}
	return all
}

// of tells whether all whom a job might meet on its nodes are of its own user.
func (c company) of(j *batch.Job) bool {
	return c != nil && !slices.ContainsFunc(append([]string{j.Queue}, j.Also...), func(queue string) bool {
		return len(c[queue]) != 1 || !c[queue][j.User]
	})
}
