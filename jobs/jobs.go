package jobs

import (
	"context"

	"gridbroker/broker"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
)

// Controller sends jobs where its broker decides, and follows them. Its
// fields, and those of its Broker, are set once, before use; it may then be
// used from several goroutines.
type Controller struct {
	*broker.Broker
	Store    *Store           // nil: jobs are not recorded
	Progress plugins.Progress // may be nil

	// Recorders are told what became of jobs.
	Recorders []plugins.Recorder
	// Origin is recorded with the jobs, for when they are sent again.
	Origin Origin
	// Scouts limits the jobs sent to resources that have not shown yet that
	// they run jobs. nil: no limit.
	Scouts *Scouts
}

// Plan is the broker's, by the jobs under way and by what scouts have seen.
func (c *Controller) Plan(ctx context.Context, jobs []*jdl.Job, rs []*glue.Resource) (*broker.Plan, error) {
	return c.planAvoiding(ctx, jobs, rs, nil)
}

// planAvoiding keeps each job away from the resources avoid names for it.
func (c *Controller) planAvoiding(ctx context.Context, jobs []*jdl.Job, rs []*glue.Resource, avoid func(*jdl.Job) []string) (*broker.Plan, error) {
	x := broker.Experience{Avoid: avoid}
	if c.Store != nil {
		x.UnderWay = c.Store.underWay
	}
	if c.Scouts != nil {
		x.Caution = c.Scouts.caution
	}
	return c.Broker.PlanWith(ctx, jobs, rs, x)
}
