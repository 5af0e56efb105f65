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

// Explain works out why resources match the job or do not; see Match.Explain.
func (j *JobPlan) Explain() *Explanation { return j.Match.Explain(j.Dropped).of(j.Job) }

// Plan matches, asks the services and ranks. The jobs are placed one after
// the other, each seeing the counters the earlier ones leave. A job without a
// choice has Err set; the error of Plan itself is the context's.
func (b *Broker) Plan(ctx context.Context, jobs []*jdl.Job, rs []*glue.Resource) (*Plan, error) {
	return b.PlanWith(ctx, jobs, rs, Experience{})
}

// PlanWith is Plan by what the caller knows beyond what is published.
func (b *Broker) PlanWith(ctx context.Context, jobs []*jdl.Job, rs []*glue.Resource, x Experience) (*Plan, error) {
	if len(jobs) == 1 {
		return b.plan(ctx, jobs, rs, x, basis{rules: b.rules()})
	}
	return b.plan(ctx, jobs, rs, x, basis{rules: b.rules(), known: &verdicts{of: map[FilterName]map[string]*verdict{}}})
}

// basis is what a plan begins with.
type basis struct {
	rules   Rules
	known   *verdicts // of filters; nil for none
	filters []Filter  // that judge by these rules; nil: every class has its own
}

func (b *Broker) plan(ctx context.Context, jobs []*jdl.Job, rs []*glue.Resource, x Experience, on basis) (*Plan, error) {
	rules, known := on.rules, on.known
	p := &Plan{Made: rules.Now, Seed: b.Seed, Policy: b.Policy.Name, Jobs: make([]JobPlan, len(jobs))}
	w := &planner{Broker: b, rules: rules, experience: x, resources: rs, table: classad.NewTable(rs),
		tally: x.tally(ctx, rs, rules.Now), draws: rand.New(rand.NewPCG(b.Seed, 0x67726964))}
	w.asked, w.classOf = map[*glue.Resource]bool{}, classes(jobs, x.Avoid)
	w.verdicts, w.filters = known, on.filters
	if b.Policy.Name == rank.Paper {
		w.lrms = lrmsWaiting(rs)
	}
	for at := 0; at < len(jobs); {
		of, end, err := w.stretch(ctx, jobs, at)
		if err != nil {
			return nil, err
		}
		for i := at; i < end; i++ {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			p.Jobs[i] = w.place(jobs[i], of[w.classOf[i]], len(jobs) == 1 && !known.standing())
			if cs := p.Jobs[i].Choices; len(cs) > 0 && i+1 < len(jobs) { // the others see it
				w.tally.Place(cs[0].Resource, jobs[i].Demand.Slots)
			}
		}
		if at > 0 || end < len(jobs) {
			for _, c := range of {
				c.match.release()
			}
		}
		at = end
	}
	p.Services = w.outcomes
	return p, nil
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
