package ask

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/rank"
)

// Guard keeps services of back-ends that do not answer from being waited for
// every time: each endpoint of its interfaces has a breaker of its own.
type Guard struct {
	Breaker    Breaker
	Interfaces []string      // glue.Interface... of the back-end
	Timeout    time.Duration // of one endpoint; what is ended by the caller's is no fault of its
}

// Forecaster puts the guard before a back-end's forecaster.
func (g Guard) Forecaster(f plugins.Forecaster) plugins.Forecaster {
	return guardedForecaster{f, g}
}

type guardedForecaster struct {
	plugins.Forecaster
	guard Guard
}

func (f guardedForecaster) Forecast(ctx context.Context, job *jdl.Job, rs []*glue.Resource) (map[string]rank.Forecast, error) {
	return guarded(ctx, f.guard, rs, func(ctx context.Context, rs []*glue.Resource) (map[string]rank.Forecast, error) {
		return f.Forecaster.Forecast(ctx, job, rs)
	})
}

// QueueLengther puts the guard before a back-end's queue lengths.
func (g Guard) QueueLengther(q plugins.QueueLengther) plugins.QueueLengther {
	return guardedLengther{q, g}
}

type guardedLengther struct {
	plugins.QueueLengther
	guard Guard
}

func (q guardedLengther) QueueLengths(ctx context.Context, rs []*glue.Resource) (map[string]rank.QueueLength, error) {
	return guarded(ctx, q.guard, rs, func(ctx context.Context, rs []*glue.Resource) (map[string]rank.QueueLength, error) {
		return q.QueueLengther.QueueLengths(ctx, rs)
	})
}

// guarded asks once per endpoint, all at once, those aside that are to be left
// alone. Resources of other interfaces are nobody's business here.
func guarded[T any](ctx context.Context, g Guard, rs []*glue.Resource, ask func(context.Context, []*glue.Resource) (map[string]T, error)) (map[string]T, error) {
	about := map[string][]*glue.Resource{}
	for _, r := range rs {
		i := slices.IndexFunc(r.Endpoints, func(e glue.Endpoint) bool { return slices.Contains(g.Interfaces, e.Interface) })
		if i >= 0 {
			about[r.Endpoints[i].URL] = append(about[r.Endpoints[i].URL], r)
		}
	}
	all := map[string]T{}
	var errs []error
	var mu sync.Mutex
	var wg sync.WaitGroup
	for service, rs := range about {
		if err := g.Breaker.Open(service); err != nil {
			errs = append(errs, fmt.Errorf("%s: not asked: %w", service, err))
			continue
		}
		wg.Go(func() {
			asked, cancel := context.WithTimeout(ctx, g.Timeout)
			defer cancel()
			got, err := ask(asked, rs)
			left := ctx.Err() != nil // by whoever asked: nobody is at fault
			if err != nil && asked.Err() != nil && !left {
				err = fmt.Errorf("%s: %w", service, silentError(g.Timeout))
			}
			if err == nil || !left && !errors.Is(err, context.Canceled) {
				g.Breaker.Done(service, err)
			}
			mu.Lock()
			defer mu.Unlock()
			for id, v := range got {
				all[id] = v
			}
			errs = append(errs, err)
		})
	}
	wg.Wait()
	return all, errors.Join(errs...)
}
