package jobs

import (
	"cmp"
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
func (c *Controller) Intend(ctx context.Context, p *broker.Plan, sets ...*jdl.JobSet) ([]*Outcome, error) {
	if c.Store == nil {
		return nil, errNoStore
	}
	now := c.now()
	ids := newIDs(now, len(p.Jobs)+len(sets))
	at := map[*jdl.Job]*Record{}
	var os []*Outcome
	for i := range p.Jobs {
		jp := &p.Jobs[i]
		if jp.Err != nil {
			continue
		}
		o := &Outcome{job: jp.Job, Record: &Record{ID: ids[i], Name: jp.Job.Name, ParentName: jp.Job.Group, File: jp.Job.File, JDL: jp.Job.Text(),
			Node: jp.Job.Node, Origin: c.Origin, Slots: jp.Job.Demand.Slots, Scripts: scriptsOf(jp.Job)}}
		if _, err := o.Apply(Recorded{}, now); err != nil {
			return nil, err
		}
		o.Choices = o.choose(jp.Choices, c.Offers())
		at[jp.Job] = o.Record
		os = append(os, o)
	}
	for i, set := range sets {
		if len(set.Jobs) < 2 {
			continue
		}
		if err := join(c, set, at, ids[len(p.Jobs)+i]); err != nil {
			return nil, err
		}
	}
	return os, c.Store.Add(ctx, Records(os))
}

// join gives the jobs of a set their parent, their predecessors' ids and those of the jobs that they take files from.
func join(c *Controller, set *jdl.JobSet, at map[*jdl.Job]*Record, parent string) error {
	byNode := map[string]*Record{}
	for _, job := range set.Jobs {
		if r := at[job]; r != nil {
			r.Parent, r.ParentName, r.MaxRunning, r.Category, r.MaxInCategory = parent, cmp.Or(job.Group, set.Name), set.MaxRunning, job.Category, job.MaxInCategory
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
		if err := takeOver(c, job, at[job], byNode); err != nil {
			return err
		}
	}
	return nil
}

// choose makes the best alternatives, as many as are worth recording, the
// choices of a job, and keeps what ranked them for this process.
func (o *Outcome) choose(rs []rank.Ranked, most int) []Choice {
	rs = foremostAndKinds(rs, most)
	cs := make([]Choice, 0, len(rs))
	o.ranked = make(map[string]*rank.Ranked, len(rs))
	for i := range rs {
		r := &rs[i]
		c := Choice{Resource: r.Resource.ID, At: r.Resource.Name, Site: r.Resource.Site, Score: r.Score, Endpoint: r.Endpoint,
			Unproven: r.Limit.On, StartOdds: r.StartOdds(), Environments: append(broker.EnvironmentsAt(o.job, r), broker.FreeAt(o.job, r.Resource)...)}
		if expected, ok := broker.Parts(*r).Seconds(); ok {
			c.Predicted, c.Guessed = expected, !r.RunKnown(o.job)
		}
		o.ranked[c.Resource] = r
		cs = append(cs, c)
	}
	return cs
}

// foremostAndKinds are the best so many, and of each kind of back-end that is not among them the best: a description may do for that one alone.
func foremostAndKinds(rs []rank.Ranked, most int) []rank.Ranked {
	if len(rs) <= most {
		return rs
	}
	best, kinds := slices.Clone(rs[:most]), map[string]bool{}
	for i := range best {
		kinds[best[i].Endpoint.Interface] = true
	}
	for i := most; i < len(rs); i++ {
		if kind := rs[i].Endpoint.Interface; !kinds[kind] {
			best, kinds[kind] = append(best, rs[i]), true
		}
	}
	return best
}

// Submit records the jobs of a plan and sends those that wait for no other, as many as
// may be at back-ends at once.
func (c *Controller) Submit(ctx context.Context, p *broker.Plan, sets ...*jdl.JobSet) ([]*Outcome, error) {
	os, err := c.Intend(ctx, p, sets...)
	if err != nil {
		return nil, err
	}
	return os, c.Send(ctx, foremost(os))
}

// Unready is why none of a plan's jobs can be sent anywhere, as their back-ends know without asking anybody: the
// credential that is missing or has run out. Records of such jobs would be of no use, and one more for every try. It is
// nil where one job could be sent to one of its choices.
func Unready(ctx context.Context, c *Controller, p *broker.Plan) error {
	var first error
	asked := map[string]bool{}
	for i := range p.Jobs {
		for k := range p.Jobs[i].Choices {
			e := p.Jobs[i].Choices[k].Endpoint
			key := e.Interface + " " + e.URL
			if asked[key] {
				continue
			}
			asked[key] = true
			backend, _ := c.Registry.For(e.Interface)
			readier, ok := backend.(plugins.Readier)
			if !ok {
				return nil
			}
			err := readier.Ready(ctx, e)
			if bad, ok := errors.AsType[*plugins.Error](err); !ok || bad.Kind != plugins.Credential {
				return nil
			}
			first = cmp.Or(first, err)
		}
	}
	return first
}

// foremost is the jobs that wait for no other and for no script, of each set as many as may be at back-ends at once.
func foremost(os []*Outcome) []*Outcome {
	sent := crowd{}
	return slices.DeleteFunc(slices.Clone(os), func(o *Outcome) bool {
		return len(o.After) > 0 || o.Scripts != nil && (o.Scripts.Pre || o.Scripts.NoJob) || !sent.admit(o.Record)
	})
}
