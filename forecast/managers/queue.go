package managers

import (
	"slices"
	"sort"
)

// queue holds the jobs that wait at a manager, in the order in which they are looked at.
type queue []*Job

// add puts a job into its place and returns where that is.
func (q *queue) add(j *Job) int {
	i := sort.Search(len(*q), func(i int) bool { return j.before((*q)[i]) })
	*q = slices.Insert(*q, i, j)
	return i
}

// failed collects needs for which there was no room in one look through a queue.
// As rooms only shrink during it, what needs as much or more need not be tried.
type failed []Resources

func (f failed) covers(need *Resources) bool {
	for i := range f {
		if need.covers(&f[i]) && need.Wall >= f[i].Wall {
			return true
		}
	}
	return false
}

// everything says whether no job can find room: there is none for the least need there is.
func (f failed) everything() bool {
	if len(f) == 0 {
		return false
	}
	last := &f[len(f)-1]
	return last.CPUs <= 1 && *last == Resources{CPUs: last.CPUs}
}

func (f *failed) add(need *Resources) {
	if len(*f) < 8 {
		*f = append(*f, *need)
	}
}
