package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gridbroker/broker/clock"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/rank"
)

// Services are asked about the resources that passed the filters.
type Services struct {
	Forecasters    []plugins.Forecaster
	QueueLengthers []plugins.QueueLengther
	Historians     []plugins.Historian
	Estimators     []plugins.Estimator
	Monitors       []plugins.Monitor
}

// none says whether there is nobody to ask.
func (s Services) none() bool {
	return len(s.Forecasters)+len(s.QueueLengthers)+len(s.Historians)+len(s.Estimators)+len(s.Monitors) == 0
}

// Outcome is what came of asking one service.
type Outcome struct {
	Name    string        `json:"name"`
	Kind    string        `json:"kind"` // forecast, queue length, history, monitoring
	Answers int           `json:"answers"`
	Took    time.Duration `json:"took"`
	Error   string        `json:"error,omitempty"`
}

// answer is one service's reply, by resource ID.
type answer struct {
	Outcome
	order     int // of its question
	forecasts map[string]rank.Forecast
	lengths   map[string]rank.QueueLength
	histories map[string]rank.History
	troubles  map[string]plugins.Trouble
	usage     rank.Usage
}

// ofResources tells whether anything was said of single resources.
func (a *answer) ofResources() bool {
	return len(a.forecasts)+len(a.lengths)+len(a.histories)+len(a.troubles) > 0
}

// asker is one service's question, kind by kind.
type asker struct {
	name, kind string
	ask        func(ctx context.Context, a *answer) (int, error)
}

// aboutJob are the questions whose answers depend on the job.
func (s Services) aboutJob(job *jdl.Job, rs []*glue.Resource) []asker {
	var out []asker
	for _, f := range s.Forecasters {
		out = append(out, asker{f.Name(), "forecast", func(ctx context.Context, a *answer) (n int, err error) {
			a.forecasts, err = f.Forecast(ctx, job, rs)
			return len(a.forecasts), err
		}})
	}
	for _, h := range s.Historians {
		out = append(out, asker{h.Name(), "history", func(ctx context.Context, a *answer) (n int, err error) {
			a.histories, err = h.History(ctx, job, rs)
			return len(a.histories), err
		}})
	}
	return out
}

// aboutResources are the questions whose answers hold for every job.
func (s Services) aboutResources(rs []*glue.Resource) []asker {
	var out []asker
	for _, q := range s.QueueLengthers {
		out = append(out, asker{q.Name(), "queue length", func(ctx context.Context, a *answer) (n int, err error) {
			a.lengths, err = q.QueueLengths(ctx, rs)
			return len(a.lengths), err
		}})
	}
	for _, e := range s.Estimators {
		out = append(out, asker{e.Name(), "history", func(ctx context.Context, a *answer) (n int, err error) {
			a.usage, err = e.Usage(ctx)
			return 0, err // it is no word on any resource
		}})
	}
	for _, m := range s.Monitors {
		out = append(out, asker{m.Name(), "monitoring", func(ctx context.Context, a *answer) (n int, err error) {
			a.troubles, err = m.Troubles(ctx, rs)
			return len(a.troubles), err
		}})
	}
	return out
}

// ask puts questions to services at once and returns when all have answered
// or ctx ends: a silent one costs nothing but its term. The answers are in the
// order of the questions, whoever was first.
func (b *Broker) ask(ctx context.Context, askers []asker) []answer {
	if len(askers) == 0 {
		return nil
	}
	replies := make(chan answer, len(askers))
	start := b.Clock.Now()
	late := ctx.Err() != nil // to begin
	for i, q := range askers {
		if !late {
			go func() { replies <- q.answer(ctx, i, b.Clock) }()
		}
	}
	answers := make([]answer, len(askers))
	for i, q := range askers {
		answers[i] = answer{Outcome: Outcome{Name: q.name, Kind: q.kind}}
	}
	if !late {
		b.take(ctx, replies, answers)
	}
	for i := range answers {
		if answers[i].Took == 0 {
			answers[i].Took, answers[i].Error = b.Clock.Now().Sub(start), errLate.Error()
		}
	}
	return answers
}

// tellFor is how long services whose term is over may take to tell which of their hosts was silent.
const tellFor = time.Second

// take puts replies in the places of their questions until all are there, the term is over and what services
// say about that has come, or nobody wants them any more.
func (b *Broker) take(ctx context.Context, replies <-chan answer, answers []answer) {
	var told <-chan time.Time
	over := ctx.Done()
	for n := 0; n < len(answers); {
		select {
		case a := <-replies:
			answers[a.order] = a
			n++
		case <-over:
			if !errors.Is(context.Cause(ctx), errLate) {
				return
			}
			over, told = nil, b.Clock.After(tellFor)
		case <-told:
			return
		}
	}
}

// errLate ends questions whose term is over.
var errLate error = lateError{}

type lateError struct{}

func (lateError) Error() string { return "no answer in time" }

// Is tells that the question was given up: who was asked need not be at fault.
func (lateError) Is(other error) bool { return other == context.Canceled }

func (q asker) answer(ctx context.Context, order int, c clock.Clock) (a answer) {
	start := c.Now()
	a = answer{Outcome: Outcome{Name: q.name, Kind: q.kind}, order: order}
	defer func() {
		if p := recover(); p != nil { // a service's fault must not end the plan
			a.Error = fmt.Sprint("internal error: ", p)
		}
		a.Took = max(1, c.Now().Sub(start))
	}()
	n, err := q.ask(ctx, &a)
	a.Answers, a.Error = n, complaint(ctx, err)
	return a
}

// complaint is why a question has no answer, or not all of it: whoever was silent is named where the service names its hosts.
func complaint(ctx context.Context, err error) string {
	switch {
	case err == nil:
		return ""
	case ctx.Err() == nil, errors.Is(err, errLate):
		return err.Error()
	case err == ctx.Err():
		return errLate.Error()
	}
	return fmt.Sprintf("%v: %v", errLate, err)
}

// candidates joins what the services said to the survivors. A ban or a
// critical alarm rejects, for now.
func (m *Match) candidates(rules Rules, answers []answer) []rank.Candidate {
	cs := make([]rank.Candidate, len(m.Survivors))
	var usage rank.Usage
	if at := slices.IndexFunc(answers, func(a answer) bool { return a.usage.Jobs > 0 }); at >= 0 {
		usage = answers[at].usage
	}
	for i, r := range m.Survivors {
		c := &cs[i]
		c.Resource, c.Age, c.Usage = r, ageOf(r, rules.Now), usage
		c.Endpoint, _ = rules.endpoint(r)
		if m.lrms != nil {
			c.LRMSWaiting = m.lrms[rank.LRMS(r)]
		}
	}
	said := slices.DeleteFunc(slices.Clone(answers), func(a answer) bool { return !a.ofResources() })
	if len(said) == 0 {
		return cs
	}
	return m.without(cs, func(c *rank.Candidate) *Reason { return advise(c, rules.Now, said) })
}

// without takes out the survivors against which something is said. cs are
// their candidates, in the same order.
func (m *Match) without(cs []rank.Candidate, against func(*rank.Candidate) *Reason) []rank.Candidate {
	n := 0 // that stay so far
	for i := range cs {
		if why := against(&cs[i]); why != nil {
			if n == i { // the first: a service that is late may still look at the lists
				m.Survivors, m.rows = slices.Clone(m.Survivors), slices.Clone(m.rows)
			}
			m.later = append(m.later, &Rejection{Resource: cs[i].Resource, Filter: why.Filter, reason: why})
			continue
		}
		if n < i {
			cs[n], m.Survivors[n], m.rows[n] = cs[i], m.Survivors[i], m.rows[i]
		}
		n++
	}
	m.Survivors, m.rows = m.Survivors[:n], m.rows[:n]
	return cs[:n]
}

// advise fills in one candidate; a reason means that it must not be used.
func advise(c *rank.Candidate, now time.Time, answers []answer) *Reason {
	id := c.Resource.ID
	for i := range answers {
		a := &answers[i]
		if f, ok := a.forecasts[id]; ok {
			c.Forecasts = append(c.Forecasts, f)
		}
		if q, ok := a.lengths[id]; ok && c.Queue == nil {
			c.Queue = new(q)
		}
		if h, ok := a.histories[id]; ok && c.History == nil {
			c.History = new(h)
			if h.BannedUntil.After(now) {
				have := Fact{Kind: BannedUntil, Until: h.BannedUntil, Said: h.BanReason}
				if h.PinnedDown {
					have = Fact{Kind: PinnedDown}
				}
				return &Reason{Filter: ByHealth, Want: Fact{Kind: WorkingResource}, Temporary: true, Have: have}
			}
		}
		if t, ok := a.troubles[id]; ok {
			if t.Critical {
				return &Reason{Filter: ByHealth, Want: Fact{Kind: WellResource}, Have: Fact{Kind: Alarmed, Name: a.Name, Said: t.Said}, Temporary: true}
			}
			c.Trouble = t.Said
		}
	}
	return nil
}
