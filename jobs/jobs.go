package jobs

import (
	"context"
	"sync"
	"time"

	"gridbroker/broker"
	"gridbroker/broker/clock"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
)

// Controller sends jobs where its broker decides, and follows them. Its
// fields, and those of its Broker, are set once, before use; it may then be
// used from several goroutines.
type Controller struct {
	*broker.Broker
	Store    Store            // nil: jobs are not recorded
	Progress plugins.Progress // may be nil

	// Recorders are told what became of jobs.
	Recorders []plugins.Recorder
	// Inputs is the directory below which files lie that nodes of DAGs take from
	// others, a folder for each job; "": such nodes are not taken.
	Inputs string
	// Origin is recorded with the jobs, for when they are sent again.
	Origin Origin
	// Ahead changes a plan for jobs that are sent again, which was made over the
	// resources found: a scheduler among them takes every job. nil: plans are as made.
	Ahead func(p *broker.Plan, found []*glue.Resource)
	// Scouts limits the jobs sent to resources that have not shown yet that
	// they run jobs. nil: no limit.
	Scouts *Scouts
	// Settle is for how long a request whose outcome is uncertain may still
	// arrive; 0: SettleTime.
	Settle time.Duration
	// AtOnce is how many endpoints are talked to at once; 0: 32.
	AtOnce int

	sweeping sweep
	lanes    lanes
	bringing lanes // outputs on their way
	scripts  scripting
}

// sweep remembers when attempts that may turn up late were last looked up.
type sweep struct {
	mu   sync.Mutex
	last clock.Reading
}

// sweepStep is how often they are looked up by one process.
const sweepStep = 30 * time.Second

// due reports whether it is time to look, and notes that it was done.
func (s *sweep) due(now clock.Reading) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if passed, ok := now.Since(s.last); ok && passed < sweepStep {
		return false
	}
	s.last = now
	return true
}

func settleTime(c *Controller) time.Duration {
	if c.Settle > 0 {
		return c.Settle
	}
	return SettleTime
}

func (c *Controller) atOnce() int {
	if c.AtOnce > 0 {
		return c.AtOnce
	}
	return 32
}

// now is the time by the broker's clock.
func (c *Controller) now() time.Time { return c.Clock.Now() }

// Plan is the broker's, by the jobs under way and by what scouts have seen.
func (c *Controller) Plan(ctx context.Context, jobs []*jdl.Job, rs []*glue.Resource) (*broker.Plan, error) {
	return planAvoiding(ctx, c, jobs, rs, nil)
}

// planAvoiding keeps each job away from the resources avoid names for it.
func planAvoiding(ctx context.Context, c *Controller, jobs []*jdl.Job, rs []*glue.Resource, avoid func(*jdl.Job) []string) (*broker.Plan, error) {
	x := broker.Experience{Avoid: avoid}
	if c.Store != nil {
		x.UnderWay = c.Store.UnderWay
	}
	if c.Scouts != nil {
		x.Caution = c.Scouts.caution
	}
	return c.Broker.PlanWith(ctx, jobs, rs, x)
}

// apply lets events happen to jobs, in one transaction: event says which to
// each, by its record as it is now; nil is none. What cannot happen to a job,
// and what is wrong with its record, is in its Err; the error is that of the
// store.
func (c *Controller) apply(ctx context.Context, os []*Outcome, event func(*Record) Event) error {
	if len(os) == 0 {
		return nil
	}
	now := c.now()
	errs, err := c.Store.Update(ctx, Records(os), func(r *Record) (Change, error) {
		e := event(r)
		if e == nil {
			return Change{}, nil
		}
		return r.Apply(e, now)
	})
	if err != nil {
		return err
	}
	for i, o := range os {
		if errs[i] == nil {
			continue
		}
		o.Err = errs[i]
		if _, gone := errs[i].(*GoneError); gone {
			_, _ = o.Record.Apply(Vanished{}, now) // may happen in every state
		}
	}
	return nil
}

// free reports whether no living process holds the job.
func (c *Controller) free(r *Record) bool { return r.Owner == "" || !c.Store.Alive(r.Owner) }
