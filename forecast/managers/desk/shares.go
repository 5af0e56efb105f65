package desk

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// In the tree the older of two jobs of one priority goes first. So that who hands in ten thousand does not keep all others
// of the desk waiting behind them, users have their turns: each one's first job goes before anybody's second one. For that
// jobs swap ages. All of them together are as old as they are, so that nobody who is not of the desk loses by it.

// share lets jobs that wait swap their ages.
func share(list []*job, now time.Time) {
	slices.SortFunc(list, func(a, b *job) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Submitted, b.Submitted), cmp.Compare(a.ID, b.ID))
	})
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].Priority == list[0].Priority {
			n++
		}
		byTurns(list[:n], now)
		list = list[n:]
	}
}

// byTurns is share for jobs of one priority, from the oldest to the youngest.
func byTurns(list []*job, now time.Time) {
	had, turns := map[string]int{}, [][]*job{}
	for _, j := range list {
		n := had[j.Subject]
		had[j.Subject]++
		if n == len(turns) {
			turns = append(turns, nil)
		}
		turns[n] = append(turns[n], j)
	}
	at, first := len(list), int64(math.MaxInt64) // the age of the oldest that comes later and is in the tree
	for _, jobs := range slices.Backward(turns) {
		for _, j := range slices.Backward(jobs) {
			at--
			j.age = list[at].Submitted
			j.enter = min(j.age, first)
			if j.handed != 0 && !strays(j, now) {
				first = min(first, j.handed)
			}
		}
	}
}

// ageSlack is by how much the age that a job has in the tree may be another than it should be by now, and a quarter of it.
const ageSlack = time.Minute

// strays tells that a job in the tree has a much other age than it should have, since jobs came and went.
func strays(j *job, now time.Time) bool {
	off := time.Duration(j.handed-j.age) * time.Millisecond
	return j.handed != 0 && off.Abs() > ageSlack+now.Sub(time.UnixMilli(min(j.handed, j.age)))/4
}

// pace keeps work to a twentieth of the time.
type pace struct {
	took time.Duration
	done time.Time
}

// run does the work, unless it is too soon.
func (p *pace) run(work func()) {
	began := time.Now()
	if began.Sub(p.done) < 20*p.took {
		return
	}
	work()
	p.done = time.Now()
	p.took = p.done.Sub(began)
}
