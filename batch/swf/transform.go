package swf

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Scale divides a time of submission by a load factor: 1.25 makes the jobs
// come in 1/1.25 of the time and so raises the load by a quarter. What the
// jobs are is not changed. Times are cut to whole seconds.
func Scale(submit int64, load float64) int64 {
	if load == 1 {
		return submit
	}
	return int64(float64(submit) / load)
}

// Shake moves every submission by a random time of up to span seconds either
// way and puts the jobs in order again, the first at time 0. One trace gives
// many such workloads, which tell a policy's quality from the accidents of
// one log (Tsafrir, Ouaknine, Feitelson 2007, "Reducing performance evaluation
// sensitivity and variability by input shaking").
func Shake(jobs []Job, span int64, seed uint64) []Job {
	rng := rand.New(rand.NewPCG(seed, 0x5bd1e995))
	list := slices.Clone(jobs)
	for i := range list {
		if span > 0 {
			list[i].Submit += rng.Int64N(2*span+1) - span
		}
	}
	return order(list)
}

// Merge makes one workload of several clusters' traces, all beginning at time
// 0, with the cluster's number (from 1) as the partition. Users, groups and
// queues of different traces are kept apart by numbering them anew.
func Merge(traces ...[]Job) []Job {
	var list []Job
	var users, groups, queues renumber
	for i, jobs := range traces {
		for _, j := range jobs {
			j.Partition = int64(i + 1)
			j.User, j.Group, j.Queue = users.of(i, j.User), groups.of(i, j.Group), queues.of(i, j.Queue)
			list = append(list, j)
		}
	}
	return order(list)
}

// order sorts jobs by submission, equal ones as they stand, makes the first
// submission time 0 and numbers them from 1.
func order(list []Job) []Job {
	slices.SortStableFunc(list, func(a, b Job) int { return cmp.Compare(a.Submit, b.Submit) })
	for i := range list {
		if i > 0 {
			list[i].Submit -= list[0].Submit
		}
		list[i].ID = int64(i + 1)
	}
	if len(list) > 0 {
		list[0].Submit = 0
	}
	return list
}

// renumber gives numbers to pairs of trace and number; unknown stays so.
type renumber struct{ numbers map[[2]int64]int64 }

func (r *renumber) of(trace int, n int64) int64 {
	if n < 0 {
		return n
	}
	if r.numbers == nil {
		r.numbers = map[[2]int64]int64{}
	}
	key := [2]int64{int64(trace), n}
	if _, ok := r.numbers[key]; !ok {
		r.numbers[key] = int64(len(r.numbers) + 1)
	}
	return r.numbers[key]
}
