package broker

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jdl/classad"
	"gridbroker/rank"
)

// maxCandidates is how many candidates, summed over the classes of jobs that
// compete at a time, a plan holds; each is about a kilobyte and a half.
const maxCandidates = 30_000

// class is the work on equal jobs.
type class struct {
	match     *Match
	field     *rank.Field
	unmatched *noMatch // once it was found that there is no choice
}

// planner makes one plan. Jobs are dealt with in stretches: the classes of a
// stretch are matched, the services asked about all of them, and then its jobs
// are placed one after the other. So memory does not grow with their number.
type planner struct {
	*Broker
	rules      Rules
	experience Experience
	resources  []*glue.Resource
	table      *classad.Table
	tally      *rank.Tally
	draws      *rand.Rand
	lrms       map[string]glue.Opt[int64] // jobs waiting in each batch system
	classOf    []int                      // of each job
	verdicts   *verdicts                  // of filters, for jobs that are alike in what these look at; nil for a single job
	filters    []Filter                   // of a Standing; nil: every class has its own
	asked      map[*glue.Resource]bool
	common     []answer // what holds for every job, about those asked
	spent      time.Duration
	outcomes   []Outcome
}

// stretch makes the classes of the jobs from at on, until they have too many
// candidates or there are no more; it returns where the next one begins.
func (w *planner) stretch(ctx context.Context, jobs []*jdl.Job, at int) (of map[int]*class, end int, err error) {
	of = map[int]*class{}
	var order []*class
	candidates := 0
	for end = at; end < len(jobs); end++ {
		k := w.classOf[end]
		if of[k] != nil {
			continue
		}
		if candidates > maxCandidates {
			break
		}
		c := &class{match: w.match(jobs[end])}
		of[k], order = c, append(order, c)
		candidates += len(c.match.Survivors)
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
	}
	matches := make([]*Match, len(order))
	for i, c := range order {
		matches[i] = c.match
	}
	answers := w.askAbout(ctx, matches)
	if ctx.Err() != nil {
		return nil, 0, ctx.Err()
	}
	for i, c := range order {
		c.field = w.field(c.match, answers[i])
	}
	return of, end, nil
}

// match is what the filters say of all resources for the class of a job.
func (w *planner) match(job *jdl.Job) *Match {
	again := func() []Filter { return DefaultFilters(w.rules.avoiding(w.experience.Avoid, job)) }
	filters := w.filters
	if filters == nil {
		filters = again()
	}
	m := match(job, w.resources, filters, w.table, w.verdicts)
	m.again = again
	m.who, m.lrms, m.deploy = w.rules.who(job), w.lrms, cmp.Or(w.policyFor(job).Model, rank.DefaultModel()).Deploy
	return m
}

// field sets up the competition for the jobs of one class.
func (w *planner) field(m *Match, answers []answer) *rank.Field {
	cs := w.experience.heed(m, m.candidates(w.rules, answers), w.rules.Now)
	policy := w.policyFor(m.Job)
	return policy.NewField(m.Job, w.rules.Now, cs, w.tally, rankOf(m, cs, w.table, policy.Name))
}

// askAbout asks the services about the survivors of every class: what holds for
// every job once, about those not asked about before; what depends on the job
// class by class. All the asking of a plan takes at most AskFor.
func (w *planner) askAbout(ctx context.Context, matches []*Match) [][]answer {
	if w.Services.none() {
		return make([][]answer, len(matches))
	}
	if w.AskFor > 0 {
		within, end := context.WithCancelCause(ctx)
		defer end(nil)
		left := w.Clock.After(max(1, w.AskFor-w.spent))
		go func() {
			select {
			case <-left:
				end(errLate)
			case <-within.Done():
			}
		}()
		ctx = within
	}
	start := w.Clock.Now()
	answers, common := w.askAll(ctx, matches, w.unasked(survivors(matches)))
	for i := range answers {
		w.outcomes = summed(w.outcomes, answers[i])
	}
	w.outcomes = summed(w.outcomes, common)
	w.common = append(w.common, common...)
	for i := range answers {
		answers[i] = append(answers[i], w.common...)
	}
	w.spent += w.Clock.Now().Sub(start)
	return answers
}

// unasked are those of some resources that no stretch before has asked about.
func (w *planner) unasked(rs []*glue.Resource) (list []*glue.Resource) {
	if len(w.classOf) == 1 {
		return rs // there is no other stretch
	}
	for _, r := range rs {
		if !w.asked[r] {
			w.asked[r] = true
			list = append(list, r)
		}
	}
	return list
}

// lrmsWaiting sums up what is published to wait in the queues of each batch
// system: of each queue once, whichever share or view says the most.
func lrmsWaiting(rs []*glue.Resource) map[string]glue.Opt[int64] {
	type queue struct{ lrms, name string }
	queues := map[queue]int64{}
	for _, r := range rs {
		if r.Waiting.OK && !r.StateIsPlaceholder {
			q := queue{rank.LRMS(r), r.Queue}
			queues[q] = max(queues[q], r.Waiting.V)
		}
	}
	sums := map[string]glue.Opt[int64]{}
	for q, n := range queues {
		sums[q.lrms] = glue.Some(sums[q.lrms].V + n)
	}
	return sums
}

// place orders the choices of a job.
func (w *planner) place(job *jdl.Job, c *class, alone bool) JobPlan {
	n := w.Offers()
	if w.WholeOrder || alone {
		n = 0
	}
	jp := JobPlan{Job: job, Match: c.match}
	jp.Choices, jp.Dropped = c.field.Order(w.draws, n)
	if len(jp.Choices) > 0 {
		return jp
	}
	if c.unmatched == nil {
		c.unmatched = newNoMatch(c.match, jp.Dropped)
	}
	jp.Err = &NoMatchError{job, c.unmatched}
	return jp
}
