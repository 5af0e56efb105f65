package sim

import (
	"math"
	"slices"
	"time"
)

// Run is the outcome of one policy with one seed. Times in seconds.
type Run struct {
	Policy      string       `json:"policy"`
	Seed        uint64       `json:"seed"`
	Jobs        int          `json:"jobs"`     // that ran to their end
	Unplaced    int          `json:"unplaced"` // no site could run them
	Failed      int          `json:"failed"`   // failed for good
	Again       int          `json:"again"`    // attempts that failed and were sent again
	Moved       int          `json:"moved"`    // taken back from a queue and sent elsewhere
	Away        int          `json:"away"`     // ran at another site than their user's own
	Missed      int          `json:"missed"`   // bookings that began more than a minute late
	Booked      int          `json:"booked"`
	Messages    int          `json:"messages"` // between users, services, sites, managers, scheduler
	MeanWait    float64      `json:"wait_mean" unit:"seconds"`
	MedianWait  float64      `json:"wait_median" unit:"seconds"`
	P95Wait     float64      `json:"wait_p95" unit:"seconds"`
	P99Wait     float64      `json:"wait_p99" unit:"seconds"`
	Slowdown    float64      `json:"bounded_slowdown_mean"`          // against the run time at speed 1
	Completion  float64      `json:"completion_mean" unit:"seconds"` // from submission to end
	Utilisation float64      `json:"utilisation"`                    // of all sites until the last global job was submitted
	LocalWait   float64      `json:"local_wait_mean" unit:"seconds"`
	Spread      float64      `json:"spread"`   // standard deviation over sites of the share of processors that global jobs used
	Fairness    float64      `json:"fairness"` // between users: Jain's index of their mean bounded slowdowns, 1 is equal
	Classes     []Class      `json:"classes"`
	ECDF        [][2]float64 `json:"wait_ecdf"` // wait in seconds, share of jobs that wait no longer
	Gantt       []Bar        `json:"gantt,omitempty"`
}

// Class is what jobs of one size went through.
type Class struct {
	Name     string  `json:"name"`
	Jobs     int     `json:"jobs"`
	MeanWait float64 `json:"wait_mean" unit:"seconds"`
	Slowdown float64 `json:"bounded_slowdown_mean"`
}

// Bar is one job in the picture of the first jobs; times in seconds from the beginning.
type Bar struct {
	Site   int   `json:"site"`
	Procs  int   `json:"procs"`
	Submit int64 `json:"submit" unit:"seconds"`
	Start  int64 `json:"start" unit:"seconds"`
	End    int64 `json:"end" unit:"seconds"`
}

// classes are the sizes: by processors, then by the run time in hours.
var classes = []struct {
	name  string
	holds func(j *job) bool
}{
	{"1 processor, to 1 h", func(j *job) bool { return j.procs == 1 && j.run <= 3600 }},
	{"1 processor, longer", func(j *job) bool { return j.procs == 1 }},
	{"2 to 8, to 1 h", func(j *job) bool { return j.procs <= 8 && j.run <= 3600 }},
	{"2 to 8, longer", func(j *job) bool { return j.procs <= 8 }},
	{"wider, to 1 h", func(j *job) bool { return j.run <= 3600 }},
	{"wider, longer", func(*job) bool { return true }},
}

// mean sums up.
type waits struct {
	n   int
	sum float64
}

func (w *waits) add(x float64) { w.n, w.sum = w.n+1, w.sum+x }

func (w *waits) mean() float64 { return w.sum / float64(max(1, w.n)) }

// tally collects what becomes of the global jobs of a run.
type tally struct {
	waits      distribution
	slowdown   waits
	completion waits
	wait       waits
	area       []float64 // by site: processor seconds
	users      map[int]*waits
	class      [6][2]waits // waits, slowdowns
	gantt      []Bar
}

// maxBars bounds the picture of the first jobs.
const maxBars = 120

// add counts a job that ran from start to end.
func (t *tally) add(j *job, site int, start, end time.Time) {
	submitted := epoch.Add(time.Duration(j.submit) * time.Second)
	wait, took := start.Sub(submitted).Seconds(), end.Sub(submitted).Seconds()
	slowdown := max(1, took/float64(max(j.run, 10)))
	t.waits.add(wait)
	t.wait.add(wait)
	t.slowdown.add(slowdown)
	t.completion.add(took)
	t.area[site] += end.Sub(start).Seconds() * float64(j.procs)
	u := t.users[j.user]
	if u == nil {
		u = &waits{}
		t.users[j.user] = u
	}
	u.add(slowdown)
	for k := range classes {
		if classes[k].holds(j) {
			t.class[k][0].add(wait)
			t.class[k][1].add(slowdown)
			break
		}
	}
	if len(t.gantt) < maxBars {
		t.gantt = append(t.gantt, Bar{site, j.procs, j.submit, start.Unix() - epoch.Unix(), end.Unix() - epoch.Unix()})
	}
}

// into works the figures of a run out.
func (t *tally) into(r *Run) {
	n := t.wait.n
	r.Jobs = n
	r.MeanWait, r.Slowdown, r.Completion = t.wait.mean(), t.slowdown.mean(), t.completion.mean()
	if n > 0 {
		at := func(share int) float64 { return t.waits.at(min(n-1, n*share/100)) }
		r.MedianWait, r.P95Wait, r.P99Wait = at(50), at(95), at(99)
	}
	for k := 0; k <= 60 && n > 0; k++ {
		at := min(n-1, k*n/60)
		r.ECDF = append(r.ECDF, [2]float64{t.waits.at(at), float64(at+1) / float64(n)})
	}
	for k := range classes {
		if c := &t.class[k]; c[0].n > 0 {
			r.Classes = append(r.Classes, Class{classes[k].name, c[0].n, c[0].mean(), c[1].mean()})
		}
	}
	r.Fairness = t.fairness()
	r.Gantt = t.gantt
}

// fairness is Jain's index (Jain, Chiu, Hawe 1984) of the users' mean bounded slowdowns.
func (t *tally) fairness() float64 {
	names := make([]int, 0, len(t.users))
	for u := range t.users {
		names = append(names, u)
	}
	slices.Sort(names)
	sum, squares := 0.0, 0.0
	for _, u := range names {
		x := t.users[u].mean()
		sum += x
		squares += x * x
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(len(names)) * squares)
}

func meanDeviation(xs []float64) (mean, sd float64) {
	for _, x := range xs {
		mean += x / float64(len(xs))
	}
	for _, x := range xs {
		sd += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(sd / float64(max(1, len(xs)-1)))
}
