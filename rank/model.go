package rank

import (
	"math"
	"time"
)

// Model holds the weights and priors of the hybrid score. Every number that
// is not measured stands here, so that a site can replace it.
type Model struct {
	// Weights of the parts of the expected completion; 1 is neutral.
	WaitWeight, RunWeight, StageInWeight float64

	PriorWait    time.Duration // the wait where nobody says anything
	PriorRun     time.Duration // the run time of a job that names none; also of the jobs ahead in a queue
	PriorSuccess float64       // the chance that a job runs to its end, 0..1
	PriorJobs    float64       // how many jobs of history the prior success is worth
	PriorSlots   int64         // slots of a resource that publishes no such number

	// Standard deviations of fresh information on the wait.
	ForecastError  time.Duration // a forecast without interval and past error
	QueueError     time.Duration // a queue-length service
	CountersError  time.Duration // published counters of jobs and slots
	PublishedError time.Duration // published response time (GLUE EstimatedResponseTime)
	PriorError     time.Duration // the prior
	// Drift is by how many seconds per second of age they grow.
	Drift float64

	NearFile, FarFile time.Duration // stage-in of a file at a close storage element, and elsewhere
	Deploy            time.Duration // stage-in of a runtime environment that a resource has not cached
	WarningFactor     float64       // success is multiplied by it under a health warning
	RunError          float64       // standard deviation of a run time, as a part of it

	ReferenceHEPSPEC float64 // per core: speed 1
	ReferenceMHz     float64 // clock: speed 1 where no benchmark is published

	// Near is the difference of expected completions that means nothing:
	// within it the choice is drawn, so that many users do not all hit one
	// resource.
	Near time.Duration
}

// DefaultModel returns the stated priors. A wait of an hour known to four
// hours says "no idea"; a published state loses a second of trust per second;
// HEP-SPEC06 of 10 per core is a common worker node; an image of 1 GB comes over
// 100 Mbit/s and is unpacked in a minute and a half.
func DefaultModel() Model {
	return Model{
		WaitWeight: 1, RunWeight: 1, StageInWeight: 1,
		PriorWait: time.Hour, PriorRun: time.Hour,
		PriorSuccess: 0.95, PriorJobs: 5, PriorSlots: 10,
		ForecastError: 30 * time.Minute, QueueError: 10 * time.Minute,
		CountersError: 20 * time.Minute, PublishedError: 2 * time.Hour, PriorError: 4 * time.Hour,
		Drift:    1,
		NearFile: 5 * time.Second, FarFile: time.Minute, Deploy: 90 * time.Second,
		WarningFactor: 0.8, RunError: 0.3,
		ReferenceHEPSPEC: 10, ReferenceMHz: 2500,
		Near: time.Minute,
	}
}

// worst is the longest expected completion that is told apart, in seconds:
// about 30 years. No score is beyond it.
const worst = 1e9

// minSuccess keeps the division by the chance of success finite.
const minSuccess = 0.02

// completion is the hybrid score: (wait + stage-in + run + overhead) / chance of success.
type completion struct {
	wait, stageIn, run, success float64
	overhead, total, sigma      float64
	terms                       []Term
}

func (m *Model) complete(sc *scene, c *Candidate) completion {
	var out completion
	out.wait, out.sigma, out.terms = m.wait(sc, c)
	stage := m.stageIn(sc, c)
	run := m.run(sc, c)
	var deploy, over Term // most have none of these, and a term costs as much as a score
	if len(sc.wishes) > 0 {
		deploy = m.environment(sc, c)
	}
	if c.History != nil {
		over = c.overhead()
	}
	out.stageIn, out.run = stage.Seconds+deploy.Seconds, run.Seconds
	out.overhead = over.Seconds
	sum := clamp(out.wait+out.stageIn+out.run+out.overhead, 0, worst)
	success, limit := m.success(c), Term{Raw: 1}
	if !sc.named {
		limit = m.limit(c, run)
	}
	out.success = max(success.Raw*limit.Raw, minSuccess)
	out.total = clamp(sum/out.success, 0, worst)
	success.Seconds = sum/success.Raw - sum
	limit.Seconds = out.total - sum - success.Seconds
	out.sigma = clamp(math.Sqrt(out.sigma*out.sigma+run.Uncertainty*run.Uncertainty)/out.success, 0, worst)
	out.terms = append(out.terms, stage, run, success)
	if deploy.OK {
		out.terms = append(out.terms, deploy)
	}
	if used, ok := sc.used(c); ok {
		out.terms = append(out.terms, Term{Name: TermUsage, Raw: used, Unit: unitAsked, Source: "history", Weight: 1, OK: true})
	}
	if over.OK {
		out.terms = append(out.terms, over)
	}
	if limit.Raw < 1 {
		out.terms = append(out.terms, limit)
	}
	return out
}

// overhead is what jobs took there beside waiting and running; nothing where
// that is not known.
func (c *Candidate) overhead() Term {
	t := Term{Name: TermOverhead, Unit: unitSeconds, Source: "prior", Weight: 1}
	if h := c.History; h != nil && h.Overhead.OK {
		t.Seconds, t.Source, t.OK = clamp(h.Overhead.V.Seconds(), 0, worst), "history", true
		t.Raw = t.Seconds
	}
	return t
}

// limit is the chance that a job, which names no wall time, ends before the
// queue's limit, run times being exponential around the one expected.
func (m *Model) limit(c *Candidate, run Term) Term {
	t := Term{Name: TermLimit, Raw: 1, Unit: unitChance, Source: c.Resource.Source, Age: c.Age, Weight: 1, OK: true}
	limit := c.Resource.MaxWallTime
	if c.Resource.DefaultWallTime.OK {
		limit = c.Resource.DefaultWallTime
	}
	if !limit.OK || limit.V <= 0 || run.Seconds <= 0 {
		return t
	}
	t.Raw = clamp(1-math.Exp(-limit.V.Seconds()/run.Seconds), minSuccess, 1)
	if t.Raw > 0.999 {
		t.Raw = 1
	}
	return t
}

// success is the smoothed chance that a job sent there runs to its end: the
// resource's own record of n jobs against a prior worth PriorJobs.
func (m *Model) success(c *Candidate) Term {
	p, t := m.PriorSuccess, Term{Name: TermSuccess, Unit: unitChance, Source: "prior", Weight: 1}
	if h := c.History; h != nil && h.Success.OK && h.Jobs > 0 && !math.IsNaN(h.Success.V) {
		n := float64(h.Jobs)
		p = (clamp(h.Success.V, 0, 1)*n + p*m.PriorJobs) / (n + m.PriorJobs)
		t.Source, t.OK = "history", true
	}
	if c.Trouble != "" || c.Endpoint.Health == "warning" {
		p *= m.WarningFactor
		t.Source, t.OK = "health", true
	}
	t.Raw = clamp(p, minSuccess, 1)
	return t
}

// clamp limits x to [lo, hi]; NaN becomes hi, the worse end everywhere here
// except for the chance of success, which is clamped before it is used.
func clamp(x, lo, hi float64) float64 {
	switch {
	case x <= lo:
		return lo
	case x < hi:
		return x
	}
	return hi
}
