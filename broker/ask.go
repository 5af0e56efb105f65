package broker

import (
	"context"
	"sync"

	"gridbroker/glue"
)

// askedAtOnce is for how many classes of jobs services are asked at once.
const askedAtOnce = 8

// askAll asks the services about the survivors of every class until ctx ends:
// what depends on the job class by class, what holds for every job about rs.
// The answers are by class.
func (b *Broker) askAll(ctx context.Context, matches []*Match, rs []*glue.Resource) (answers [][]answer, common []answer) {
	answers = make([][]answer, len(matches))
	aboutAll := func() { common = b.ask(ctx, b.Services.aboutResources(rs)) }
	aboutOne := func(i int) { answers[i] = b.ask(ctx, b.Services.aboutJob(matches[i].Job, matches[i].Survivors)) }
	if len(b.Services.Forecasters) == 0 && len(b.Services.Historians) == 0 {
		matches = nil // nobody has a word on single jobs
	}
	var all sync.WaitGroup
	switch {
	case len(rs) == 0:
	case len(matches) == 0:
		aboutAll()
	default:
		all.Go(aboutAll)
	}
	if len(matches) == 1 && len(matches[0].Survivors) > 0 {
		aboutOne(0)
		matches = nil
	}
	room := make(chan struct{}, askedAtOnce)
	for i, m := range matches {
		if len(m.Survivors) == 0 {
			continue
		}
		all.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			aboutOne(i)
		})
	}
	all.Wait()
	return answers, common
}

// survivors are the resources that passed the filters for any class.
func survivors(matches []*Match) []*glue.Resource {
	if len(matches) == 1 {
		return matches[0].Survivors
	}
	seen := map[*glue.Resource]bool{}
	var out []*glue.Resource
	for _, m := range matches {
		for _, r := range m.Survivors {
			if !seen[r] {
				seen[r] = true
				out = append(out, r)
			}
		}
	}
	return out
}

// summed adds outcomes of questions: one for each service, with its most
// answers, its longest time and its first error.
func summed(outcomes []Outcome, answers []answer) []Outcome {
next:
	for _, a := range answers {
		for i := range outcomes {
			o := &outcomes[i]
			if o.Kind != a.Kind || o.Name != a.Name {
				continue
			}
			o.Answers, o.Took = max(o.Answers, a.Answers), max(o.Took, a.Took)
			if o.Error == "" {
				o.Error = a.Error
			}
			continue next
		}
		outcomes = append(outcomes, a.Outcome)
	}
	return outcomes
}
