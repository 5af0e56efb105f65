package sim

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"gridbroker/forecast/scheduler"
	"gridbroker/glue"
)

// dispatcher brings the global jobs of a run to sites.
type dispatcher interface {
	arrive(ctx context.Context, number int) error // a user hands a job in
	wake() int64                                  // when it wants its turn, never for none
	turn(ctx context.Context) error
}

// grid is one run under way.
type grid struct {
	scenario  *Scenario
	policy    string
	sites     []*site
	resources []*glue.Resource
	jobs      *workload
	coming    job          // the next of them
	next      int          // its number
	under     map[int]*job // that were handed in, and have not come to their end
	now       int64
	rng       *rand.Rand
	served    map[string]*site // by resource, those with live services
	dispatch  dispatcher
	eager     bool // ends of jobs are to be seen at their time
	again     []retry
	troubles  []trouble
	asking    sync.Mutex // services are asked by several goroutines
	habits    *habits
	tally     tally
	run       Run
}

// retry is a job that is handed in again.
type retry struct {
	at     int64
	number int
}

// retryAfter is how long a user takes to hand a failed job in again, seconds.
const retryAfter = 300

// lossDelay is how long a sender takes to notice that a submission was lost, seconds.
const lossDelay = 60

// Now makes the grid the clock of its broker.
func (g *grid) Now() time.Time { return epoch.Add(time.Duration(g.now) * time.Second) }

// After never comes: nothing in a plan waits in virtual time.
func (g *grid) After(time.Duration) <-chan time.Time { return make(chan time.Time) }

// Play runs a scenario's jobs of a seed under a policy.
func (s *Scenario) Play(ctx context.Context, policy string, seed uint64) (*Run, error) {
	g, err := s.grid(policy, seed)
	if err != nil {
		return nil, err
	}
	if g.dispatch, err = g.newDispatcher(ctx); err != nil {
		return nil, err
	}
	if c, ok := g.dispatch.(*stored); ok {
		defer c.close()
	}
	if err := g.play(ctx); err != nil {
		return nil, fmt.Errorf("policy %s, seed %d: %w", policy, seed, err)
	}
	return &g.run, nil
}

// grid is a run's before anything has happened: jobs and sites.
func (s *Scenario) grid(policy string, seed uint64) (*grid, error) {
	jobs, err := s.draw(seed)
	if err != nil {
		return nil, err
	}
	g := &grid{
		scenario: s, policy: policy, jobs: jobs, under: map[int]*job{}, rng: rand.New(rand.NewPCG(seed, 23)), served: map[string]*site{}, run: Run{Policy: policy, Seed: seed},
		tally: tally{area: make([]float64, len(s.Sites)), users: map[int]*waits{}}, troubles: s.troubles(),
	}
	g.eager = len(g.troubles) > 0
	if jobs.last > int64(longest.Seconds()) {
		return nil, wrong("jobs.load", "%g: its jobs would take more than %v", s.Jobs.Load, longest)
	}
	if g.coming, err = jobs.next(); err != nil {
		return nil, err
	}
	for i := range s.Sites {
		if err := g.addSite(i); err != nil {
			return nil, err
		}
	}
	for place, c := range slices.SortedFunc(slices.Values(g.sites), func(a, b *site) int { return cmp.Compare(a.Name, b.Name) }) {
		c.place = place
	}
	return g, nil
}

// addSite adds the site of that number, with its local jobs until the last global one comes.
func (g *grid) addSite(i int) error {
	s := g.scenario
	local, err := s.locals(i, g.run.Seed*1_000_003+uint64(i)+1, g.jobs.last)
	if err != nil {
		return err
	}
	c, err := newSite(&s.Sites[i], i, local)
	if err != nil {
		return err
	}
	c.ended = g.ended
	g.sites, g.resources = append(g.sites, c), append(g.resources, nil)
	if c.Services {
		g.served[c.Name] = c
	}
	return nil
}

func (g *grid) newDispatcher(ctx context.Context) (dispatcher, error) {
	switch g.policy {
	case Independent, Oracle:
		return &direct{grid: g, lookUp: g.policy == Oracle}, nil
	case Tree:
		return newForest(g), nil
	case GrAS, GrASPaper:
		return newCentral(g), nil
	case Stored:
		return newStored(ctx, g, scheduler.OpenScratch)
	}
	b, err := newBroker(g)
	if err != nil {
		return nil, err
	}
	if g.eager || g.scenario.Life || g.policy == Replan {
		return newLife(g, b)
	}
	b.Alternatives = 1 // no site refuses
	for _, c := range g.sites {
		c.spare = new(*c.resource) // a plan is forgotten before the next one, which knows the last record from the one before
	}
	return &brokered{grid: g, broker: b, standing: b.Standing()}, nil
}

// play lets everything happen in the order of time: troubles, what the
// dispatcher wants, and jobs that are handed in.
func (g *grid) play(ctx context.Context) error {
	for step := 0; ; step++ {
		if step%64 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		arrives, turn, trouble := int64(never), g.dispatch.wake(), int64(never)
		if g.next < g.jobs.count {
			arrives = g.coming.submit
		}
		if len(g.again) > 0 {
			arrives = min(arrives, g.again[0].at)
		}
		if len(g.troubles) > 0 {
			trouble = g.troubles[0].at
		}
		if arrives == never && turn == never {
			return g.finish(ctx, trouble)
		}
		var err error
		switch at := min(arrives, turn, trouble); {
		case at == trouble:
			err = g.strike(trouble)
		case at == turn:
			g.now = turn
			err = g.dispatch.turn(ctx)
		default:
			g.now = arrives
			err = g.arrive(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// arrive lets a user hand in a new job, or a failed one again.
func (g *grid) arrive(ctx context.Context) error {
	number := g.next
	if len(g.again) > 0 && g.again[0].at == g.now {
		number = g.again[0].number
		g.again = g.again[1:]
	} else if err := g.handIn(); err != nil {
		return err
	}
	return g.dispatch.arrive(ctx, number)
}

// handIn takes the next new job, and looks at the one behind it.
func (g *grid) handIn() (err error) {
	g.under[g.next] = new(g.coming)
	g.next++
	if g.next == g.jobs.count {
		g.utilisation()
		return nil
	}
	g.coming, err = g.jobs.next()
	return err
}

// job is one that was handed in, and has not come to its end.
func (g *grid) job(number int) *job { return g.under[number] }

// forgetJob forgets one that has: nobody asks about it any more.
func (g *grid) forgetJob(number int) { delete(g.under, number) }

// unplaced counts a job that no site can run.
func (g *grid) unplaced(number int) {
	g.run.Unplaced++
	g.forgetJob(number)
}

// see renews what sites publish, where it is due, and in a grid with troubles lets ends be seen.
func (g *grid) see() error {
	for _, c := range g.sites {
		due := c.due(g.now)
		if due || g.eager {
			if err := c.advance(g.now); err != nil {
				return err
			}
		}
		if due {
			c.publish(g.now)
			g.run.Messages++
		}
		if g.resources[c.place] == nil && c.told < 0 {
			c.publish(g.now) // down from the beginning: what is known of it is older
		}
		g.resources[c.place] = c.resource
	}
	return nil
}

// send puts a job on its way to a site, where it is after so long.
func (g *grid) send(number int, c *site, begin time.Time) (id string, takes time.Duration) {
	j := g.job(number)
	g.run.Messages++
	at := g.now + int64(g.scenario.Latency.Seconds())
	if bandwidth := g.scenario.Network.Bandwidth; bandwidth > 0 {
		at += int64(j.input / bandwidth)
	}
	for g.rng.Float64() < g.scenario.Network.Loss {
		at += lossDelay
		g.run.Messages++
	}
	id = globalID(number, j.tries)
	c.send(arrival{at: at, number: number, id: id, begin: begin, job: j})
	return id, time.Duration(at-g.now) * time.Second
}

// ended is told of every global job that leaves a machine.
func (g *grid) ended(number int, id string, c *site, start, end time.Time, well bool) {
	j := g.job(number)
	if d, ok := g.dispatch.(watcher); ok {
		d.left(number, id, c, start, end, well)
	}
	switch {
	case well:
		g.tally.add(j, c.number, start, end)
		g.habits.ended(j, end.Sub(start), c.Speed)
		if c.number != j.home {
			g.run.Away++
		}
		if !g.followed() {
			g.forgetJob(number)
		}
	case !g.followed():
		g.failed(number, end.Unix()-epoch.Unix())
	}
}

// watcher is a dispatcher that wants to know of ends itself.
type watcher interface {
	left(number int, id string, c *site, start, end time.Time, well bool)
}

// followed says whether failed jobs are sent again by the dispatcher itself.
func (g *grid) followed() bool {
	switch g.dispatch.(type) {
	case *life, *stored:
		return true
	}
	return false
}

// failed hands a job in again, as often as its user does that.
func (g *grid) failed(number int, at int64) {
	j := g.job(number)
	if j.tries >= g.scenario.Jobs.Retries {
		g.run.Failed++
		g.forgetJob(number)
		return
	}
	j.tries++
	g.run.Again++
	g.later(number, max(at, g.now)+retryAfter)
}

// later hands a job in again at a time.
func (g *grid) later(number int, at int64) {
	r := retry{at, number}
	i, _ := slices.BinarySearchFunc(g.again, r, func(a, b retry) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.number, b.number)) })
	g.again = slices.Insert(g.again, i, r)
}

// utilisation is measured when the last global job is submitted, so that the end of the run does not blur it.
func (g *grid) utilisation() {
	used, all := 0.0, 0.0
	for _, c := range g.sites {
		if c.advance(g.now) != nil {
			return // told when the site is advanced again
		}
		used += c.used
		all += float64(c.Procs) * float64(max(1, g.now))
	}
	g.run.Utilisation = used / all
}

// finish lets all jobs end, and works the figures out. Troubles that are still
// to come pass as well, as jobs may wait for their ends.
func (g *grid) finish(ctx context.Context, trouble int64) error {
	if trouble != never {
		if err := g.strike(trouble); err != nil {
			return err
		}
		return g.play(ctx)
	}
	for _, c := range g.sites {
		if err := c.drain(); err != nil {
			return err
		}
	}
	if len(g.again) > 0 {
		return g.play(ctx)
	}
	r := &g.run
	g.tally.into(r)
	var local waits
	shares := make([]float64, len(g.sites))
	for i, c := range g.sites {
		local.n, local.sum = local.n+c.locals.n, local.sum+c.locals.sum
		shares[i] = g.tally.area[i] / float64(c.Procs) / float64(max(1, g.now))
	}
	r.LocalWait = local.mean()
	_, r.Spread = meanDeviation(shares)
	return nil
}
