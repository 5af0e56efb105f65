package plan

import (
	"cmp"
	"slices"
)

// rank is a place in a list and what it is sorted by.
type rank struct {
	key    float64
	at, of int32
}

// sortBy sorts by rising key, those of one key as they were. It uses memory that
// it returns.
func sortBy(list []int32, spare []rank, key func(int32) float64) []rank {
	spare = spare[:0]
	for k, i := range list {
		spare = append(spare, rank{key(i), int32(k), i})
	}
	slices.SortFunc(spare, func(a, b rank) int {
		if a.key != b.key {
			return cmp.Compare(a.key, b.key)
		}
		return int(a.at - b.at)
	})
	for k := range spare {
		list[k] = spare[k].of
	}
	return spare
}

// fair orders jobs of equal priority by virtual time: each user's jobs are
// stamped with what he would have used of his budget by then (start-time fair
// queueing, Goyal, Vin and Cheng 1996), so that users take turns in proportion
// to their budgets.
func fair(jobs []Job, list []int32, r *Rules) {
	if len(r.Users) < 2 {
		return
	}
	used := make([]float64, len(r.Users))
	for i := range used {
		used[i] = r.Users[i].Used / weight(&r.Users[i])
	}
	stamps := make([]float64, len(jobs))
	for _, i := range list {
		j := &jobs[i]
		stamps[i] = used[j.User]
		used[j.User] += r.fee(j) / weight(&r.Users[j.User])
	}
	var spare []rank
	for from := 0; from < len(list); {
		to := from + 1
		for to < len(list) && jobs[list[to]].Priority == jobs[list[from]].Priority {
			to++
		}
		spare = sortBy(list[from:to], spare, func(i int32) float64 { return stamps[i] })
		from = to
	}
}

func weight(u *User) float64 {
	if u.Weight > 0 {
		return u.Weight
	}
	return 1
}

// Bypasses counts for each job that got no place by how many that came later it
// was passed in this cycle.
func Bypasses(jobs []Job, bookings []Booking) []int32 {
	placed := make([]bool, len(jobs))
	var later []int64
	for _, b := range bookings {
		if !b.Tentative {
			placed[b.Job] = true
			later = append(later, jobs[b.Job].Seq)
		}
	}
	slices.Sort(later)
	passed := make([]int32, len(jobs))
	for i := range jobs {
		if !placed[i] && !jobs[i].Queued {
			at, _ := slices.BinarySearch(later, jobs[i].Seq+1)
			passed[i] = int32(len(later) - at)
		}
	}
	return passed
}
