package broker

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jdl/classad"
	"gridbroker/rank"
)

// Plan says where jobs shall go.
type Plan struct {
	Made     time.Time
	Seed     uint64
	Policy   string
	Jobs     []JobPlan // as they were given
	Services []Outcome
}

// JobPlan is one job with the resources it may be offered to, best first.
type JobPlan struct {
	Job     *jdl.Job
	Match   *Match // shared by equal jobs
	Choices []rank.Ranked
	Dropped []rank.Dropped // matched but could not be ranked
	Err     error          // *NoMatchError when there is no choice
}

// class is the work on equal jobs.
type class struct {
	match *Match
	field *rank.Field
}

// Plan matches, asks the services and ranks. The jobs are placed one after
// the other, each seeing the counters the earlier ones leave. A job without a
// choice has Err set; the error of Plan itself is the context's.
func (b *Broker) Plan(ctx context.Context, jobs []*jdl.Job, rs []*glue.Resource) (*Plan, error) {
	return b.PlanWith(ctx, jobs, rs, Experience{})
}

// PlanWith is Plan by what the caller knows beyond what is published.
func (b *Broker) PlanWith(ctx context.Context, jobs []*jdl.Job, rs []*glue.Resource, x Experience) (*Plan, error) {
	rules := b.rules()
	p := &Plan{Made: rules.Now, Seed: b.Seed, Policy: b.Policy.Name, Jobs: make([]JobPlan, len(jobs))}
	tally := x.tally(ctx, rs, rules.Now)
	table := classad.NewTable(rs)
	groups := classes(jobs, x.Avoid)
	matches := make([]*Match, len(groups))
	for i, members := range groups {
		job := jobs[members[0]]
		matches[i] = match(job, rs, b.filters(rules.avoiding(x.Avoid, job)), table)
		matches[i].who = rules.who(job)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	answers, outcomes := b.askAll(ctx, matches)
	p.Services = outcomes
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	of := make([]*class, len(jobs))
	for i, members := range groups {
		c := b.field(matches[i], answers[i], rules, table, tally, x)
		for _, j := range members {
			of[j] = c
		}
	}
	b.place(p, jobs, of, tally)
	return p, nil
}

// field sets up the competition for the jobs of one class.
func (b *Broker) field(m *Match, answers []answer, rules Rules, table *classad.Table, tally *rank.Tally, x Experience) *class {
	cs := x.heed(m, m.candidates(rules, answers), rules.Now)
	policy := b.policyFor(m.Job)
	return &class{m, policy.NewField(m.Job, rules.Now, cs, tally, rankOf(m, cs, table, policy.Name))}
}

// dataAccessCost is the name by which a Rank asks for closeness to the data.
const dataAccessCost = "DataAccessCost"

// policyFor is the broker's policy, except that "Rank = other.DataAccessCost",
// which stands alone and is no published attribute, means policy data.
func (b *Broker) policyFor(job *jdl.Job) rank.Policy {
	policy := b.Policy
	if name, ok := otherName(job.Rank); ok && strings.EqualFold(name, dataAccessCost) && policy.UsesRank() {
		policy.Name = rank.Data
	}
	return policy
}

// rankOf evaluates the job's Rank, or in policy jdl its default, for all
// candidates, and returns the function that does it again for one.
func rankOf(m *Match, cs []rank.Candidate, table *classad.Table, policy string) func(*glue.Resource) classad.Value {
	job := m.Job
	e := job.Rank
	if e == nil && policy == rank.JDL {
		e = job.DefaultRank
	}
	if e == nil {
		return nil
	}
	for i, v := range classad.Compile(e, job.Ad, table).Values(m.rows[:len(cs)]) {
		cs[i].JDLRank = v
	}
	again := classad.NewEvaluation(job.Ad)
	return func(r *glue.Resource) classad.Value { return again.Eval(e, r) }
}

// place orders the choices of every job and counts each where it goes.
func (b *Broker) place(p *Plan, jobs []*jdl.Job, of []*class, tally *rank.Tally) {
	draws := rand.New(rand.NewPCG(b.Seed, 0x67726964))
	n := b.Offers()
	if b.WholeOrder || len(jobs) == 1 {
		n = 0
	}
	explained := map[*class]*NoMatchError{}
	for i, job := range jobs {
		c := of[i]
		jp := JobPlan{Job: job, Match: c.match}
		jp.Choices, jp.Dropped = c.field.Order(draws, n)
		if len(jp.Choices) > 0 {
			tally.Place(jp.Choices[0].Resource, job.Demand.Slots)
		} else {
			if explained[c] == nil {
				explained[c] = &NoMatchError{c.match.Explain(jp.Dropped)}
			}
			jp.Err = explained[c]
		}
		p.Jobs[i] = jp
	}
}
