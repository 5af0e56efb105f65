package plan

import "slices"

// rank is a place in a list and what it is sorted by.
type rank struct {
	key    float64
	at, of int32
}

// before is the order of ranks, of which no two are in one place.
func (a rank) before(b rank) bool { return a.key < b.key || a.key == b.key && a.at < b.at }

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
	q := queuesOf(len(list), len(r.Users))
	for from := 0; from < len(list); {
		to := from + 1
		for to < len(list) && jobs[list[to]].Priority == jobs[list[from]].Priority {
			to++
		}
		if to-from > 1 {
			q.merge(jobs, list[from:to], stamps)
		}
		from = to
	}
}

// byUser is the queue of each user, in which stamps rise: they are merged, and nothing is sorted.
type byUser struct {
	next  []int32 // by place in a list: the place of the next job of its user; 0: there is none
	last  []int32 // by user: the place of his last one so far, and one; 0: there is none
	first []rank  // a heap: the first of each user that is left, its stamp and place, and whose it is
	out   []int32
}

func queuesOf(jobs, users int) *byUser {
	return &byUser{next: make([]int32, jobs), last: make([]int32, users), out: make([]int32, 0, jobs)}
}

// merge sorts jobs by their stamps, those of one stamp as they were.
func (q *byUser) merge(jobs []Job, list []int32, stamps []float64) {
	q.first, q.out = q.first[:0], q.out[:0]
	for at, i := range list {
		user := jobs[i].User
		if before := q.last[user]; before > 0 {
			q.next[before-1] = int32(at)
		} else {
			q.first = append(q.first, rank{stamps[i], int32(at), user})
		}
		q.last[user], q.next[at] = int32(at)+1, 0
	}
	for k := len(q.first)/2 - 1; k >= 0; k-- {
		q.down(k)
	}
	for len(q.first) > 0 {
		top := &q.first[0]
		q.out = append(q.out, list[top.at])
		if next := q.next[top.at]; next > 0 {
			top.key, top.at = stamps[list[next]], next
		} else {
			q.last[top.of] = 0
			end := len(q.first) - 1
			q.first[0], q.first = q.first[end], q.first[:end]
		}
		q.down(0)
	}
	copy(list, q.out)
}

// down puts one of the heap where it belongs, that may be too far up.
func (q *byUser) down(k int) {
	h := q.first
	for {
		least := 2*k + 1
		if least >= len(h) {
			return
		}
		if right := least + 1; right < len(h) && h[right].before(h[least]) {
			least = right
		}
		if !h[least].before(h[k]) {
			return
		}
		h[k], h[least] = h[least], h[k]
		k = least
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
