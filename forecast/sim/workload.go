package sim

import (
	"math"
	"math/rand/v2"
	"time"
)

// job is one job of a run; times in seconds from its beginning.
type job struct {
	submit, run, limit int64 // run and limit at speed 1
	procs              int
	home               int // site
	user               int
	input              float64 // MB
	tries              int     // how often it was sent again
}

// workload are the global jobs of a run, and what is known of all of them before the first comes.
type workload struct {
	stream
	extent // submissions as they are given
}

// draw draws the global jobs of a seed: from the trace, shaken by the seed, or
// by Lublin and Feitelson's model on a machine of the size of the widest job.
// The gaps are stretched to the load. All are drawn once to know of all, and then
// again, one by one.
func (s *Scenario) draw(seed uint64) (*workload, error) {
	begin := rand.NewPCG(seed, 17)
	behind := *begin // where chance is when all have been drawn
	all, err := extentOf(s.drawn(seed, rand.New(&behind)))
	if err != nil {
		return nil, err
	}
	w := &workload{extent: all}
	there, weights := capacity(s.Sites)
	procs := there * s.Jobs.Load
	if procs > 0 {
		w.first, w.last = all.stretched(all.first, procs), all.stretched(all.last, procs)
	}
	rng := rand.New(&behind)
	w.stream = changed{s.drawn(seed, rand.New(begin)), func(j *job) {
		if procs > 0 {
			j.submit = all.stretched(j.submit, procs)
		}
		j.home = draw(rng, weights)
		j.limit = min(max(60, int64(float64(j.limit)*s.Jobs.Estimate)), longestRun)
		if s.Jobs.InputMB > 0 {
			j.input = rng.ExpFloat64() * s.Jobs.InputMB
		}
	}}
	return w, nil
}

// drawn are the jobs as the trace or the model has them, with their users.
func (s *Scenario) drawn(seed uint64, rng *rand.Rand) stream {
	widest, most := s.Jobs.widths(s.Sites)
	if t := s.traces[traceKey(s.Jobs.Trace, most)]; s.Jobs.Trace != "" && t != nil {
		count := t.count
		if s.Jobs.Count > 0 {
			count = min(count, s.Jobs.Count)
		}
		return &shaker{stream: &firsts{t.replay(), count}, rng: rng}
	}
	drawn := lublin(widest, s.Jobs.Count, int64(s.Jobs.MaxRun.Seconds()), seed)
	return changed{drawn, func(j *job) { j.user = int(float64(s.Jobs.Users) * math.Pow(rng.Float64(), 2)) }}
}

// widths are that of the widest job, where it is drawn, and of the widest site.
func (j *Jobs) widths(sites []Site) (widest, most int) {
	widest = j.MaxProcs
	for _, site := range sites {
		if widest == 0 || j.MaxProcs == 0 && site.Procs < widest {
			widest = site.Procs
		}
		most = max(most, site.Procs)
	}
	return widest, most
}

// capacity is how many processors of speed 1 all sites come to, and by site the weight of users at home there.
func capacity(sites []Site) (all float64, weights []float64) {
	for _, site := range sites {
		all += float64(site.Procs) * site.Speed
		weights = append(weights, site.Home)
	}
	return all, weights
}

// locals are a site's local jobs up to a time.
func (s *Scenario) locals(i int, seed uint64, until int64) (stream, error) {
	c := &s.Sites[i]
	if t := s.traces[traceKey(c.Trace, c.Procs)]; c.Trace != "" && t != nil {
		if c.LocalLoad == 0 {
			return upTo{t.replay(), until}, nil
		}
		all, err := extentOf(t.replay())
		if err != nil {
			return nil, err
		}
		return upTo{all.stretch(t.replay(), float64(c.Procs)*c.LocalLoad), until}, nil
	}
	return c.local(seed, until, int64(s.Jobs.MaxRun.Seconds()))
}

// mostLocal bounds the local jobs of a site.
const mostLocal = 1 << 24

// local draws a site's local jobs up to a time: of as many as reach beyond it, in powers of two.
func (s *Site) local(seed uint64, until int64, maxRun int64) (stream, error) {
	if s.LocalLoad == 0 {
		return none{}, nil
	}
	procs := float64(s.Procs) * s.LocalLoad
	var all extent
	model := lublin(s.Procs, mostLocal, maxRun, seed)
	for n := 256; ; n *= 2 {
		for all.count < n {
			j, err := model.next()
			if err != nil {
				return nil, err
			}
			all.add(&j)
		}
		if all.stretched(all.last, procs) >= until || n >= mostLocal {
			return upTo{all.stretch(lublin(s.Procs, n, maxRun, seed), procs), until}, nil
		}
	}
}

// lublin are n jobs of the model on a machine of so many processors.
func lublin(procs, n int, maxRun int64, seed uint64) *model {
	m := &model{left: n, maxRun: maxRun}
	m.Procs, m.Seed = procs, seed
	return m
}

func draw(rng *rand.Rand, weights []float64) int {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	x := rng.Float64() * sum
	for i, w := range weights {
		if x -= w; x < 0 {
			return i
		}
	}
	return len(weights) - 1
}

// at returns a job's run and limit at a site's speed.
func (j *job) at(speed float64) (run, limit time.Duration) {
	scale := func(n int64) time.Duration { return max(1, time.Duration(float64(n)/speed)) * time.Second }
	return scale(j.run), scale(j.limit)
}
