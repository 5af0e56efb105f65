package sim

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"gridbroker/batch"
	"gridbroker/broker"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/rank"
)

// Run is the outcome of one policy with one seed. Times in seconds.
type Run struct {
	Policy      string  `json:"policy"`
	Seed        uint64  `json:"seed"`
	Jobs        int     `json:"jobs"`
	Unplaced    int     `json:"unplaced"` // no site could run them
	MeanWait    float64 `json:"wait_mean" unit:"seconds"`
	MedianWait  float64 `json:"wait_median" unit:"seconds"`
	P95Wait     float64 `json:"wait_p95" unit:"seconds"`
	Slowdown    float64 `json:"bounded_slowdown_mean"`          // against the run time at speed 1
	Completion  float64 `json:"completion_mean" unit:"seconds"` // from submission to end
	Utilisation float64 `json:"utilisation"`                    // of all sites until the last global job was submitted
	LocalWait   float64 `json:"local_wait_mean" unit:"seconds"`
	Spread      float64 `json:"spread"` // standard deviation over sites of the share of processors that global jobs used
	waits       []float64
}

// waits sums up waits.
type waits struct {
	n   int
	sum float64
}

func (w *waits) add(x float64) { w.n, w.sum = w.n+1, w.sum+x }

// grid is one run under way.
type grid struct {
	scenario  *Scenario
	policy    string
	sites     []*site
	resources []*glue.Resource
	jobs      []job
	now       int64
	broker    *broker.Broker
	served    map[string]*site // by resource, those with live services
	parsed    map[[2]int64]*jdl.Job
	run       Run
	slowdown  float64
	done      float64 // seconds from submission to end, summed
	area      []float64
}

// Now makes the grid the clock of its broker.
func (g *grid) Now() time.Time { return epoch.Add(time.Duration(g.now) * time.Second) }

// After never comes: nothing in a plan waits in virtual time.
func (g *grid) After(time.Duration) <-chan time.Time { return make(chan time.Time) }

// Play runs a scenario's jobs of a seed under a policy.
func (s *Scenario) Play(ctx context.Context, policy string, seed uint64) (*Run, error) {
	g := &grid{
		scenario: s, policy: policy, jobs: s.draw(seed), served: map[string]*site{}, parsed: map[[2]int64]*jdl.Job{},
		run: Run{Policy: policy, Seed: seed}, area: make([]float64, len(s.Sites)),
	}
	until := g.jobs[len(g.jobs)-1].submit
	for i := range s.Sites {
		c, err := newSite(&s.Sites[i], i, s.Sites[i].local(seed*1_000_003+uint64(i)+1, until, int64(s.Jobs.MaxRun.Seconds())))
		if err != nil {
			return nil, err
		}
		c.outcome = g.ended
		g.sites, g.resources = append(g.sites, c), append(g.resources, nil)
		if c.Services {
			g.served[c.Name] = c
		}
	}
	if !own[policy] {
		p, err := rank.ParsePolicy(policy, rank.DefaultModel())
		if err != nil {
			return nil, err
		}
		g.broker = &broker.Broker{Policy: p, Seed: seed, Clock: g, Services: broker.Services{
			Forecasters: []plugins.Forecaster{services{g}}, QueueLengthers: []plugins.QueueLengther{services{g}},
		}}
	}
	if err := g.play(ctx); err != nil {
		return nil, fmt.Errorf("policy %s, seed %d: %w", policy, seed, err)
	}
	return &g.run, nil
}

func (g *grid) play(ctx context.Context) error {
	for i := range g.jobs {
		if i%64 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		g.now = g.jobs[i].submit
		for k, c := range g.sites {
			if err := c.advance(g.now); err != nil {
				return err
			}
			c.publish(g.now)
			g.resources[k] = c.resource
		}
		c, err := g.choose(ctx, &g.jobs[i], i)
		if err != nil {
			return err
		}
		if c == nil {
			g.run.Unplaced++
			continue
		}
		at := g.now + int64(g.scenario.Latency.Seconds())
		c.coming = append(c.coming, arrival{at: at, number: i, job: &g.jobs[i]})
	}
	g.utilisation()
	for _, c := range g.sites {
		if err := c.drain(); err != nil {
			return err
		}
	}
	g.finish()
	return nil
}

// choose returns the site for a job, nil where none can run it.
func (g *grid) choose(ctx context.Context, j *job, number int) (*site, error) {
	switch g.policy {
	case Independent:
		if c := g.sites[j.home]; c.Procs >= j.procs {
			return c, nil
		}
		return nil, nil
	case Oracle:
		return g.foresee(j), nil
	}
	described, err := g.describe(j)
	if err != nil {
		return nil, err
	}
	g.broker.Seed = g.run.Seed<<32 + uint64(number)
	plan, err := g.broker.Plan(ctx, []*jdl.Job{described}, g.resources)
	if err != nil {
		return nil, err
	}
	if p := plan.Jobs[0]; p.Err == nil && len(p.Choices) > 0 {
		at := slices.IndexFunc(g.sites, func(c *site) bool { return c.Name == p.Choices[0].Resource.Name })
		return g.sites[at], nil
	}
	return nil, nil
}

// foresee returns the site where a job would end first if nothing else came.
func (g *grid) foresee(j *job) (best *site) {
	var first time.Time
	for _, c := range g.sites {
		if c.Procs < j.procs {
			continue
		}
		run, _ := j.at(c.Speed)
		if at, ok := c.starts(j, batch.Perfect{}); ok && (best == nil || at.Add(run).Before(first)) {
			best, first = c, at.Add(run)
		}
	}
	return best
}

// describe returns the description of a job, as its user would write it.
func (g *grid) describe(j *job) (*jdl.Job, error) {
	key := [2]int64{int64(j.procs), j.limit}
	if d := g.parsed[key]; d != nil {
		return d, nil
	}
	text := `Executable = "job"; CPUNumber = ` + strconv.Itoa(j.procs) + `; WallTime = ` + strconv.FormatInt(j.limit, 10) + `;`
	d, err := jdl.ParseJob("job", []byte(text), jdl.WithoutFiles())
	if err != nil {
		return nil, err
	}
	if len(g.parsed) > 100_000 {
		clear(g.parsed)
	}
	g.parsed[key] = d
	return d, nil
}

// ended counts a global job that has ended.
func (g *grid) ended(_ bool, number int, c *site, start, end time.Time) {
	j := &g.jobs[number]
	submitted := epoch.Add(time.Duration(j.submit) * time.Second)
	wait, took := start.Sub(submitted).Seconds(), end.Sub(submitted).Seconds()
	g.run.waits = append(g.run.waits, wait)
	g.slowdown += max(1, took/float64(max(j.run, 10)))
	g.done += took
	g.area[c.number] += end.Sub(start).Seconds() * float64(j.procs)
}

// utilisation is measured when the last global job is submitted, so that the end of the run does not blur it.
func (g *grid) utilisation() {
	used, all := 0.0, 0.0
	for _, c := range g.sites {
		used += c.used
		all += float64(c.Procs) * float64(max(1, g.now))
	}
	g.run.Utilisation = used / all
}

func (g *grid) finish() {
	r := &g.run
	slices.Sort(r.waits)
	n := len(r.waits)
	r.Jobs = n
	if n > 0 {
		sum := 0.0
		for _, w := range r.waits {
			sum += w
		}
		r.MeanWait, r.Slowdown, r.Completion = sum/float64(n), g.slowdown/float64(n), g.done/float64(n)
		r.MedianWait, r.P95Wait = r.waits[n/2], r.waits[min(n-1, n*95/100)]
	}
	var local waits
	shares := make([]float64, len(g.sites))
	for i, c := range g.sites {
		local.n, local.sum = local.n+c.locals.n, local.sum+c.locals.sum
		shares[i] = g.area[i] / float64(c.Procs) / float64(max(1, g.now))
	}
	if local.n > 0 {
		r.LocalWait = local.sum / float64(local.n)
	}
	_, r.Spread = meanDeviation(shares)
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

// services answers for the sites that serve live queue lengths and forecasts.
type services struct{ g *grid }

// Name implements plugins.Forecaster and plugins.QueueLengther.
func (services) Name() string { return "simulated" }

// QueueLengths implements plugins.QueueLengther.
func (s services) QueueLengths(_ context.Context, rs []*glue.Resource) (map[string]rank.QueueLength, error) {
	answers := map[string]rank.QueueLength{}
	for _, r := range rs {
		if c := s.g.served[r.Name]; c != nil {
			answers[r.ID] = rank.QueueLength{Source: "simulated", LRMS: "slurm", Lengths: []int64{int64(c.engine.Waiting())}, At: s.g.Now()}
		}
	}
	return answers, nil
}

// Forecast implements plugins.Forecaster.
func (s services) Forecast(_ context.Context, d *jdl.Job, rs []*glue.Resource) (map[string]rank.Forecast, error) {
	answers := map[string]rank.Forecast{}
	if s.g.policy != rank.ForecastOnly && s.g.policy != rank.Hybrid {
		return answers, nil // no other policy looks at it
	}
	j := &job{procs: max(1, d.Demand.Slots), run: int64(d.Demand.WallTime.Seconds()), limit: int64(d.Demand.WallTime.Seconds())}
	for _, r := range rs {
		c := s.g.served[r.Name]
		if c == nil || c.Procs < j.procs {
			continue
		}
		if at, ok := c.starts(j, batch.Estimate{}); ok {
			wait := max(0, at.Sub(s.g.Now()))
			answers[r.ID] = rank.Forecast{Source: "simulated", Made: s.g.Now(), GoodUntil: s.g.Now().Add(time.Minute), Low: wait, Median: wait, High: wait}
		}
	}
	return answers, nil
}
