package sim

import (
	"math/rand/v2"
	"time"

	"gridbroker/batch/swf"
)

// job is one job of a run; times in seconds from its beginning.
type job struct {
	submit, run, limit int64 // run and limit at speed 1
	procs              int
	home               int // site
}

// draw draws the global jobs of a seed, by Lublin and Feitelson's model on a
// machine of the size of the widest job, with the gaps stretched to the load.
func (s *Scenario) draw(seed uint64) []job {
	widest, all := s.Jobs.MaxProcs, 0.0
	weights := make([]float64, len(s.Sites))
	for i, site := range s.Sites {
		if widest == 0 || s.Jobs.MaxProcs == 0 && site.Procs < widest {
			widest = site.Procs
		}
		all += float64(site.Procs) * site.Speed
		weights[i] = site.Home
	}
	jobs := lublin(widest, s.Jobs.Count, int64(s.Jobs.MaxRun.Seconds()), seed)
	stretch(jobs, all*s.Jobs.Load)
	rng := rand.New(rand.NewPCG(seed, 17))
	for i := range jobs {
		jobs[i].home = draw(rng, weights)
	}
	return jobs
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
		jobs[i].submit = int64(float64(jobs[i].submit-first) / span * area / procs)
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
