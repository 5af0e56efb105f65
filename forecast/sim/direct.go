package sim

import (
	"context"
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

// direct sends every job to its user's own site, or to the one where it ends
// first if nothing else comes, run times known.
type direct struct {
	*grid
	lookUp bool
}

// wake is when something happens at a site, where jobs may fail: their users see it at its time.
func (d *direct) wake() int64 {
	at := int64(never)
	if d.eager {
		for _, c := range d.sites {
			at = min(at, c.next())
		}
	}
	return at
}

// turn lets it happen.
func (d *direct) turn(context.Context) error {
	for _, c := range d.sites {
		if err := c.advance(d.now); err != nil {
			return err
		}
	}
	return nil
}

func (d *direct) arrive(_ context.Context, number int) error {
	j := d.job(number)
	c := d.sites[j.home]
	if d.lookUp {
		var err error
		if c, err = d.foresee(j); err != nil {
			return err
		}
	}
	switch {
	case c == nil && slices.ContainsFunc(d.sites, func(s *site) bool { return s.Procs >= j.procs }):
		d.failed(number, d.now) // no site that could takes jobs now
		return nil
	case c == nil || c.Procs < j.procs:
		d.unplaced(number)
		return nil
	}
	if err := d.catchUp(c); err != nil {
		return err
	}
	if d.eager && !c.takes() {
		d.failed(number, d.now)
		return nil
	}
	d.send(number, c, time.Time{})
	return nil
}

// mostComing bounds the jobs on their way to a site that nobody looks at meanwhile.
const mostComing = 64

// catchUp lets a site see this moment, where it matters. Else it sees the last one where many are on their way there: all jobs of
// the run would be, until its end.
func (d *direct) catchUp(c *site) error {
	switch {
	case d.eager:
		return c.advance(d.now)
	case len(c.coming) >= mostComing:
		return c.advance(d.now - 1)
	}
	return nil
}

// foresee returns the site where a job would end first if nothing else came.
func (d *direct) foresee(j *job) (best *site, err error) {
	var first time.Time
	for _, c := range d.sites {
		if c.Procs < j.procs || !c.takes() || c.hole {
			continue
		}
		if err := c.advance(d.now); err != nil {
			return nil, err
		}
		run, _ := j.at(c.Speed)
		if at, ok := c.starts(j, batch.Perfect{}); ok && (best == nil || at.Add(run).Before(first)) {
			best, first = c, at.Add(run)
		}
	}
	return best, nil
}

// brokered lets the broker decide for every job from what is published, and
// sends it there; nothing fails.
type brokered struct {
	*grid
	broker   *broker.Broker
	standing *broker.Standing
	parsed   descriptions
}

func (b *brokered) wake() int64                { return never }
func (b *brokered) turn(context.Context) error { return nil }

func (b *brokered) arrive(ctx context.Context, number int) error {
	if err := b.see(); err != nil {
		return err
	}
	described, err := b.parsed.of(b.job(number), 0)
	if err != nil {
		return err
	}
	b.habits.plan(b.job(number).user)
	b.broker.Seed = b.run.Seed<<32 + uint64(number)
	plan, err := b.standing.Plan(ctx, described, b.resources)
	if err != nil {
		return err
	}
	p := plan.Jobs[0]
	if p.Err != nil || len(p.Choices) == 0 {
		b.unplaced(number)
		return nil
	}
	b.send(number, b.site(p.Choices[0].Resource.Name), time.Time{})
	return nil
}

func (g *grid) site(name string) *site {
	return g.sites[slices.IndexFunc(g.sites, func(c *site) bool { return c.Name == name })]
}

// newBroker returns the broker of a run.
func newBroker(g *grid) (*broker.Broker, error) {
	name := g.policy
	if name == Replan {
		name = rank.Hybrid
	}
	p, err := rank.ParsePolicy(name, rank.DefaultModel())
	if err != nil {
		return nil, err
	}
	b := &broker.Broker{Policy: p, Seed: g.run.Seed, Clock: g}
	if name == rank.Hybrid {
		g.habits = &habits{of: map[int]rank.Usage{}}
		b.Services.Estimators = []plugins.Estimator{g.habits}
	}
	if len(g.served) == 0 {
		return b, nil
	}
	b.Services.QueueLengthers = []plugins.QueueLengther{services{g}}
	if name == rank.ForecastOnly || name == rank.Hybrid { // no other policy looks at them
		b.Services.Forecasters = []plugins.Forecaster{services{g}}
	}
	return b, nil
}

// descriptions keeps jobs as their users would describe them.
type descriptions map[[3]int64]*jdl.Job

// mostDescriptions bounds them: a trace may have one for each of its jobs.
const mostDescriptions = 10_000

func (d *descriptions) of(j *job, retries int) (*jdl.Job, error) {
	key := [3]int64{int64(j.procs), j.limit, int64(retries)}
	if described := (*d)[key]; described != nil {
		return described, nil
	}
	text := `Executable = "job"; CPUNumber = ` + strconv.Itoa(j.procs) + `; WallTime = ` + strconv.FormatInt(j.limit, 10) + `;`
	if retries > 0 {
		text += ` RetryCount = ` + strconv.Itoa(retries) + `; ShallowRetryCount = ` + strconv.Itoa(retries) + `;`
	}
	described, err := jdl.ParseJob("job", []byte(text), jdl.WithoutFiles())
	if err != nil {
		return nil, err
	}
	if *d == nil || len(*d) > mostDescriptions {
		*d = descriptions{}
	}
	(*d)[key] = described
	return described, nil
}

// services answers for the sites that serve live queue lengths and forecasts.
type services struct{ g *grid }

// Name implements plugins.Forecaster and plugins.QueueLengther.
func (services) Name() string { return "simulated" }

// answering is the site behind a resource, up to date, if it answers.
func (s services) answering(r *glue.Resource) (*site, error) {
	c := s.g.served[r.Name]
	if c == nil || c.down || c.mute {
		return nil, nil
	}
	s.g.run.Messages += 2
	return c, c.advance(s.g.now)
}

// QueueLengths implements plugins.QueueLengther.
func (s services) QueueLengths(_ context.Context, rs []*glue.Resource) (map[string]rank.QueueLength, error) {
	s.g.asking.Lock()
	defer s.g.asking.Unlock()
	answers := map[string]rank.QueueLength{}
	for _, r := range rs {
		c, err := s.answering(r)
		if err != nil {
			return nil, err
		}
		if c == nil {
			continue
		}
		waiting := int64(c.engine.Waiting())
		switch c.Lie {
		case "idle":
			waiting = 0
		case "full":
			waiting = max(waiting, 1000)
		}
		answers[r.ID] = rank.QueueLength{Source: "simulated", LRMS: "slurm", Lengths: []int64{waiting}, At: s.g.Now()}
	}
	return answers, nil
}

// Forecast implements plugins.Forecaster.
func (s services) Forecast(_ context.Context, d *jdl.Job, rs []*glue.Resource) (map[string]rank.Forecast, error) {
	s.g.asking.Lock()
	defer s.g.asking.Unlock()
	answers := map[string]rank.Forecast{}
	j := &job{procs: max(1, d.Demand.Slots), run: int64(d.Demand.WallTime.Seconds()), limit: int64(d.Demand.WallTime.Seconds())}
	for _, r := range rs {
		c, err := s.answering(r)
		if err != nil {
			return nil, err
		}
		if c == nil || c.Procs < j.procs {
			continue
		}
		at, ok := c.starts(j, batch.Estimate{})
		wait := max(0, at.Sub(s.g.Now()))
		switch c.Lie {
		case "idle":
			ok, wait = true, 0
		case "full":
			wait += 24 * time.Hour
		}
		if ok {
			answers[r.ID] = rank.Forecast{Source: "simulated", Made: s.g.Now(), GoodUntil: s.g.Now().Add(time.Minute), Low: wait, Median: wait, High: wait}
		}
	}
	return answers, nil
}
