package tree

import (
	"cmp"
	"slices"
	"strconv"

	"gridbroker/forecast/managers"
)

// ranks are the places of jobs among all by their ids, which decide between jobs of one
// submission, whatever their order in a list.
type ranks struct {
	of []int // by job
	at []int // jobs, by rank
}

func ranksOf(jobs []Job) ranks {
	r := ranks{make([]int, len(jobs)), make([]int, len(jobs))}
	for i := range jobs {
		r.at[i] = i
	}
	slices.SortStableFunc(r.at, func(a, b int) int { return cmp.Compare(jobs[a].ID, jobs[b].ID) })
	for rank, i := range r.at {
		r.of[i] = rank
	}
	return r
}

// id is a job's name among managers.
func (r *ranks) id(job int) managers.ID { return managers.ID(strconv.Itoa(r.of[job])) }

// job is the one of that name.
func (r *ranks) job(id managers.ID) int {
	rank, _ := strconv.Atoi(string(id)) // ours
	return r.at[rank]
}
