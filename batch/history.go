package batch

import "math"

// History believes the weighted mean of what similar jobs took that ran
// longer than this one has: of the user's last jobs the more recent count
// more, and far more those with the same limit and the same width. What all
// users' last jobs used of their limits stands in for what is not known yet.
type History struct {
	users map[int64]*pastJobs
	all   pastJobs
	share float64 // mean of run / limit over all
	decay [remembered]float64
}

// The weights below were chosen on two logs (KTH-SP2, SDSC-SP2) by the error
// of the starts foretold, and checked on two others (CTC-SP2, SDSC-DS).
const (
	remembered = 64   // past jobs looked at
	decay      = 0.85 // weight of a job against that of the one after it
	sameLimit  = 100  // factor for a job with the same limit
	sameProcs  = 10   // factor for a job of the same width
	prior      = 1    // weight of what all users' jobs tell
)

// pastJobs is a ring of the jobs that ended last.
type pastJobs struct {
	jobs [remembered]pastJob
	n    int // jobs ever put in
}

type pastJob struct {
	run, limit int64
	procs      int32
}

func (p *pastJobs) add(j pastJob) {
	p.jobs[p.n%remembered] = j
	p.n++
}

// NewHistory has seen no job.
func NewHistory() *History {
	h := &History{users: map[int64]*pastJobs{}, share: 1}
	for i := range h.decay {
		h.decay[i] = math.Pow(decay, float64(i))
	}
	return h
}

// Run implements Belief.
func (h *History) Run(t *Task, elapsed int64) int64 {
	limit := max(t.Limit, elapsed+1)
	sum, weight := prior*h.others(limit, elapsed), float64(prior)
	if p := h.users[t.User]; p != nil {
		for i := range min(p.n, remembered) {
			past := &p.jobs[(p.n-1-i)%remembered]
			if past.run <= elapsed {
				continue
			}
			w := h.decay[i]
			if past.limit == t.Limit {
				w *= sameLimit
			}
			if past.procs == int32(t.Procs) {
				w *= sameProcs
			}
			sum += w * float64(min(past.run, limit))
			weight += w
		}
	}
	return min(max(int64(sum/weight), elapsed+1), limit)
}

// others is the mean run time of a job with this limit, which has run for
// elapsed seconds, were it like the last jobs of all users.
func (h *History) others(limit, elapsed int64) float64 {
	if elapsed == 0 {
		return h.share * float64(limit)
	}
	sum, n := 0.0, 0
	for i := range min(h.all.n, remembered) {
		past := &h.all.jobs[i]
		if run := float64(past.run) / float64(past.limit) * float64(limit); run > float64(elapsed) {
			sum, n = sum+run, n+1
		}
	}
	if n == 0 {
		return float64(limit)
	}
	return sum / float64(n)
}

// Learn implements Belief.
func (h *History) Learn(t *Task) {
	p := &pastJobs{}
	if old := h.users[t.User]; old != nil {
		*p = *old // copies share what was there: see Copy
	}
	h.users[t.User] = p
	past := pastJob{max(t.Run, 1), max(t.Limit, t.Run, 1), int32(t.Procs)}
	p.add(past)
	h.all.add(past)
	h.average()
}

// average works out what all users' last jobs used of their limits.
func (h *History) average() {
	if h.all.n == 0 {
		return
	}
	sum := 0.0
	for i := range min(h.all.n, remembered) {
		sum += float64(h.all.jobs[i].run) / float64(h.all.jobs[i].limit)
	}
	h.share = sum / float64(min(h.all.n, remembered))
}
