package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gridbroker/broker"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/rank"
)

var errNoStore = errors.New("no job records are open")

// Intend records the jobs of a plan that have a choice, before any request
// leaves. Jobs of one set (a parametric job, a collection, a DAG) get a
// common parent. A DAG with a node that nothing matches is not begun.
func (c *Controller) Intend(ctx context.Context, p *broker.Plan, sets ...*jdl.JobSet) ([]*Record, error) {
	if c.Store == nil {
		return nil, errNoStore
	}
	now := c.Now()
	ids := newIDs(now, len(p.Jobs)+len(sets))
	at := map[*jdl.Job]*Record{}
	var rs []*Record
	for i := range p.Jobs {
		jp := &p.Jobs[i]
		if jp.Err != nil {
			continue
		}
		r := &Record{ID: ids[i], Name: jp.Job.Name, File: jp.Job.File, JDL: jp.Job.Text(), Node: jp.Job.Node, Origin: c.Origin, Slots: jp.Job.Demand.Slots,
			State: plugins.Intended, Created: now, Choices: c.choices(jp.Choices), job: jp.Job}
		at[jp.Job] = r
		rs = append(rs, r)
	}
	for i, set := range sets {
		if len(set.Jobs) < 2 {
			continue
		}
		if err := join(set, at, ids[len(p.Jobs)+i]); err != nil {
			return nil, err
		}
	}
	return rs, c.Store.Add(ctx, rs)
}

// join gives the jobs of a set their parent and their predecessors' ids.
func join(set *jdl.JobSet, at map[*jdl.Job]*Record, parent string) error {
	byNode := map[string]*Record{}
	for _, job := range set.Jobs {
		if r := at[job]; r != nil {
			r.Parent, r.MaxRunning = parent, set.MaxRunning
			byNode[job.Node] = r
		} else if set.Kind == jdl.DAG {
			return fmt.Errorf("%s: node %s matches no resource, so the DAG is not begun", job.File, job.Node)
		}
	}
	for _, job := range set.Jobs {
		for _, name := range job.After {
			before := byNode[name]
			if before == nil {
				return fmt.Errorf("%s: node %s comes after %s, which is no node", job.File, job.Node, name)
			}
			at[job].After = append(at[job].After, before.ID)
		}
	}
	return nil
}

// choices are the best alternatives, as many as are worth recording.
func (c *Controller) choices(rs []rank.Ranked) []Choice {
	rs = rs[:min(len(rs), c.Offers())]
	cs := make([]Choice, 0, len(rs))
	for i := range rs {
		r := &rs[i]
		c := Choice{Resource: r.Resource.ID, At: r.Resource.Name, Site: r.Resource.Site, Score: r.Score, Endpoint: r.Endpoint,
			Unproven: r.Limit.On, ranked: r}
		if expected, ok := broker.Parts(*r).Seconds(); ok {
			c.Predicted = expected
		}
		cs = append(cs, c)
	}
	return cs
}

// Submit records the jobs of a plan and sends those that wait for no other.
func (c *Controller) Submit(ctx context.Context, p *broker.Plan, sets ...*jdl.JobSet) ([]*Record, error) {
	rs, err := c.Intend(ctx, p, sets...)
	if err != nil {
		return nil, err
	}
	first := slices.DeleteFunc(slices.Clone(rs), func(r *Record) bool { return len(r.After) > 0 })
	return rs, c.Send(ctx, first)
}
