package maui

import (
	"math"
	"slices"
	"strings"
)

// fairShare is Maui's usage history: the processor seconds of each credential
// and of all, window by window, the present one first.
type fairShare struct {
	window int64 // beginning of the present window
	used   map[owner][]float64
	total  []float64
}

// account adds what the running jobs used since the last iteration and turns
// the windows over when one is full.
func (s *Scheduler) account(r *cluster) {
	c, f := &s.Config.FairShare, &s.fair
	if c.Policy == "NONE" || c.Interval <= 0 {
		return
	}
	if f.used == nil {
		f.used = map[owner][]float64{}
	}
	if s.last > 0 {
		for _, j := range r.jobs {
			if j.State == JobRunning {
				f.add(r.credentials(j), r.share(j)*float64(max(0, r.now-s.last)))
			}
		}
	}
	if window := r.now - r.now%c.Interval; window != f.window {
		if f.window != 0 {
			f.turn(c.Depth)
		}
		f.window = window
	}
}

// share is what a running job uses in a second.
func (r *cluster) share(j *job) float64 {
	if strings.HasPrefix(r.Config.FairShare.Policy, "DEDICATEDPES") {
		return r.equivalents(j)
	}
	return float64(j.procs)
}

func (f *fairShare) add(owners []owner, x float64) {
	for _, o := range owners {
		if len(f.used[o]) == 0 {
			f.used[o] = []float64{0}
		}
		f.used[o][0] += x
	}
	if len(f.total) == 0 {
		f.total = []float64{0}
	}
	f.total[0] += x
}

// turn begins a new window.
func (f *fairShare) turn(depth int) {
	for o, list := range f.used {
		f.used[o] = shifted(list, depth)
	}
	f.total = shifted(f.total, depth)
}

func shifted(list []float64, depth int) []float64 {
	list = slices.Insert(list, 0, 0)
	return list[:min(len(list), max(1, depth))]
}

// weighted is the sum of a history, older windows counting less.
func (f *fairShare) weighted(list []float64, c *FairShare) (sum float64) {
	for i, x := range list {
		sum += x * math.Pow(c.Decay, float64(i))
	}
	return sum
}

// percent is the share of the usage that a credential had.
func (r *cluster) percent(o owner) (float64, bool) {
	c := &r.Config.FairShare
	total := r.fair.weighted(r.fair.total, c)
	if c.Policy == "NONE" || total <= 0 {
		return 0, false
	}
	return r.fair.weighted(r.fair.used[o], c) / total * 100, true
}

// capped tells whether a fair share cap keeps a job from starting.
func (r *limits) capped(j *job) bool {
	c := &r.Config.FairShare
	if c.Policy == "NONE" {
		return false
	}
	for _, o := range r.credentials(j) {
		cred := r.Config.of(o.kind).find(o.name)
		request := float64(j.procs * j.Limit)
		if strings.HasPrefix(c.Policy, "DEDICATEDPES") {
			request = math.Trunc(r.equivalents(j))
		}
		used := r.fair.weighted(r.fair.used[o], c) + request
		switch total := r.fair.weighted(r.fair.total, c); {
		case cred.TargetMode == '^' && used > cred.Target,
			cred.TargetMode == '%' && total > 0 && used/total*100 > cred.Target:
			return true
		}
	}
	return false
}
