package sim

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"gridbroker/batch/swf"
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

// draw draws the global jobs of a seed: from the trace, shaken by the seed, or
// by Lublin and Feitelson's model on a machine of the size of the widest job.
// The gaps are stretched to the load.
func (s *Scenario) draw(seed uint64) []job {
	widest, all := s.Jobs.MaxProcs, 0.0
	weights := make([]float64, len(s.Sites))
	most := 0
	for i, site := range s.Sites {
		if widest == 0 || s.Jobs.MaxProcs == 0 && site.Procs < widest {
			widest = site.Procs
		}
		most = max(most, site.Procs)
		all += float64(site.Procs) * site.Speed
		weights[i] = site.Home
	}
	rng := rand.New(rand.NewPCG(seed, 17))
	var jobs []job
	if t := s.traces[traceKey(s.Jobs.Trace, most)]; s.Jobs.Trace != "" && t != nil {
		jobs = shaken(t.jobs, s.Jobs.Count, rng)
	} else {
		jobs = lublin(widest, s.Jobs.Count, int64(s.Jobs.MaxRun.Seconds()), seed)
		for i := range jobs {
			jobs[i].user = int(float64(s.Jobs.Users) * math.Pow(rng.Float64(), 2))
		}
	}
	if s.Jobs.Load > 0 {
		stretch(jobs, all*s.Jobs.Load)
	}
	for i := range jobs {
		j := &jobs[i]
		j.home = draw(rng, weights)
		j.limit = min(max(60, int64(float64(j.limit)*s.Jobs.Estimate)), longestRun)
		if s.Jobs.InputMB > 0 {
			j.input = rng.ExpFloat64() * s.Jobs.InputMB
		}
	}
	return jobs
}

// shaken takes the first count jobs of a trace and moves their submissions by
// up to a minute, so that seeds differ by chance alone.
func shaken(jobs []job, count int, rng *rand.Rand) []job {
	if count > 0 {
		jobs = jobs[:min(count, len(jobs))]
	}
	jobs = slices.Clone(jobs)
	for i := range jobs {
		jobs[i].submit = max(0, jobs[i].submit+rng.Int64N(121)-60)
	}
	slices.SortStableFunc(jobs, func(a, b job) int { return cmp.Compare(a.submit, b.submit) })
	return jobs
}

// locals are a site's local jobs up to a time.
func (s *Scenario) locals(i int, seed uint64, until int64) []job {
	c := &s.Sites[i]
	if t := s.traces[traceKey(c.Trace, c.Procs)]; c.Trace != "" && t != nil {
		jobs := slices.Clone(t.jobs)
		if c.LocalLoad > 0 {
			stretch(jobs, float64(c.Procs)*c.LocalLoad)
		}
		n, _ := slices.BinarySearchFunc(jobs, until+1, func(j job, at int64) int { return cmp.Compare(j.submit, at) })
		return jobs[:n]
	}
	return c.local(seed, until, int64(s.Jobs.MaxRun.Seconds()))
}

// local draws a site's local jobs up to a time.
func (s *Site) local(seed uint64, until int64, maxRun int64) []job {
	if s.LocalLoad == 0 {
		return nil
	}
	for n := 256; ; n *= 2 {
		jobs := lublin(s.Procs, n, maxRun, seed)
		stretch(jobs, float64(s.Procs)*s.LocalLoad)
		if jobs[n-1].submit >= until || n >= 1<<24 {
			for n > 0 && jobs[n-1].submit > until {
				n--
			}
			return jobs[:n]
		}
	}
}

func lublin(procs, n int, maxRun int64, seed uint64) []job {
	model := swf.Lublin{Procs: procs, Seed: seed}
	jobs := make([]job, n)
	for i := range jobs {
		j := model.Next()
		if maxRun > 0 {
			j.Run, j.Limit = min(j.Run, maxRun), min(j.Limit, maxRun)
		}
		jobs[i] = job{submit: j.Submit, run: max(1, j.Run), limit: max(60, j.Limit), procs: j.Procs}
	}
	return jobs
}

// stretch sets the gaps so that the jobs ask for so many processors on average.
func stretch(jobs []job, procs float64) {
	area := 0.0
	for i := range jobs {
		area += float64(jobs[i].run) * float64(jobs[i].procs)
	}
	first, span := jobs[0].submit, float64(max(1, jobs[len(jobs)-1].submit-jobs[0].submit))
	for i := range jobs {
		jobs[i].submit = int64(min(float64(jobs[i].submit-first)/span*area/procs, math.MaxInt64/4))
	}
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
