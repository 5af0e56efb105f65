package sim

import (
	"context"
	"slices"

	"gridbroker/broker"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

// life brings jobs to sites as the command does: recorded, sent, followed, and
// sent again elsewhere when they failed.
type life struct {
	door
	controller *jobs.Controller
	parsed     descriptions
	open       []*followed
	at         int64 // of the next look
}

// followed is one job under way.
type followed struct {
	outcome *jobs.Outcome
	number  int
}

func newLife(g *grid, b *broker.Broker) (*life, error) {
	l := &life{door: newDoor(g), at: never}
	backend := plugins.Backend{Name: "simulated", Interfaces: []string{glue.InterfaceARCREST}}
	reg, err := plugins.NewRegistry(plugins.Opened{Backend: backend, Submitter: l.door})
	if err != nil {
		return nil, err
	}
	b.Registry = reg
	l.controller = &jobs.Controller{Broker: b, Store: jobs.NewMemory(g.Now), AtOnce: 1}
	for _, c := range g.sites {
		c.begun = l.begun
	}
	return l, nil
}

func (l *life) wake() int64 { return l.at }

func (l *life) arrive(ctx context.Context, number int) error {
	if err := l.see(); err != nil {
		return err
	}
	described, err := l.parsed.of(l.job(number), l.scenario.Jobs.Retries)
	if err != nil {
		return err
	}
	l.habits.plan(l.job(number).user)
	l.controller.Seed = l.run.Seed<<32 + uint64(number)
	plan, err := l.controller.Plan(ctx, []*jdl.Job{described}, l.resources)
	if err != nil {
		return err
	}
	os, err := l.controller.Intend(ctx, plan)
	if err != nil {
		return err
	}
	for _, o := range os {
		if o.Err != nil && o.ID == "" {
			l.unplaced(number)
			return nil
		}
		l.numbers[o.ID] = number
		l.open = append(l.open, &followed{o, number})
	}
	if l.at == never {
		l.at = l.now + int64(l.scenario.Follow.Seconds())
	}
	return l.controller.Send(ctx, os)
}

// turn looks at all jobs under way, as the users' commands do.
func (l *life) turn(ctx context.Context) error {
	for _, c := range l.sites {
		if err := c.advance(l.now); err != nil {
			return err
		}
	}
	if err := l.see(); err != nil {
		return err
	}
	os := make([]*jobs.Outcome, len(l.open))
	for i, f := range l.open {
		os[i] = f.outcome
	}
	w := jobs.Waiting{Discover: func(context.Context, jobs.Origin) ([]*glue.Resource, error) { return l.resources, nil }}
	if l.policy == Replan {
		w.Replan = jobs.Replanning{After: l.scenario.Replan.Duration, Moves: maxMoves}
	}
	l.habits.planAll()
	before := moved(os)
	if _, err := l.controller.Step(ctx, os, w); err != nil {
		return err
	}
	l.run.Moved += moved(os) - before
	if err := l.close(ctx); err != nil {
		return err
	}
	l.at = l.now + int64(l.scenario.Follow.Seconds())
	if len(l.open) == 0 {
		l.at = never
	}
	return nil
}

// moved counts how often jobs were taken back.
func moved(os []*jobs.Outcome) (n int) {
	for _, o := range os {
		n += o.Moves
	}
	return n
}

// close forgets jobs that have come to their end.
func (l *life) close(ctx context.Context) error {
	var gone []*jobs.Record
	l.open = slices.DeleteFunc(l.open, func(f *followed) bool {
		o := f.outcome
		if !o.Final() || o.MayRetry(l.Now()) {
			return false
		}
		if o.State != plugins.Done {
			l.run.Failed++
		}
		gone = append(gone, o.Record)
		l.forget(f)
		return true
	})
	return l.controller.Store.Delete(ctx, gone)
}

func (l *life) forget(f *followed) {
	delete(l.numbers, f.outcome.ID)
	for k := range l.job(f.number).tries + 1 {
		delete(l.states, theAttempt(f.number, k))
	}
	l.forgetJob(f.number)
}

// maxMoves bounds how often one job is taken back from a queue.
const maxMoves = 3
