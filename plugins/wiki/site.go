package wiki

import (
	"context"
	"errors"
	"sync"
	"time"

	"gridbroker/batch"
	"gridbroker/glue"
	"gridbroker/plugins"
)

// site is a resource manager as its URL names it. It is safe for concurrent use.
type site struct {
	url    string
	client *Client
	policy batch.Policy

	mu   sync.Mutex
	last *reading
}

// reading is what a resource manager said of itself at one time.
type reading struct {
	at       time.Time
	nodes    []Node
	jobs     []Job
	forecast func() (*batch.Forecast, error) // worked out once
}

// freshFor is for how long queue lengths and forecasts go by one reading.
const freshFor = 5 * time.Second

// read asks the resource manager for its nodes and jobs.
func (s *site) read(ctx context.Context) (*reading, error) {
	nodes, err := s.client.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	jobs, err := s.client.Jobs(ctx, time.Time{})
	if err != nil {
		return nil, err
	}
	r := &reading{at: s.client.Now(), nodes: nodes, jobs: jobs}
	r.forecast = sync.OnceValues(func() (*batch.Forecast, error) {
		return (&batch.Forecaster{Policy: s.policy}).Forecast(s.state(r))
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = r
	return r, nil
}

// recent is a reading that is not older than freshFor.
func (s *site) recent(ctx context.Context) (*reading, error) {
	s.mu.Lock()
	r := s.last
	s.mu.Unlock()
	if r != nil && s.client.Now().Sub(r.at) < freshFor {
		return r, nil
	}
	return s.read(ctx)
}

func (s *site) state(r *reading) batch.State { return StateOf(s.client.Address, r.at, r.nodes, r.jobs) }

// Ping implements plugins.Pinger: it asks for the jobs that changed this very
// second, which shows both sides the other's key.
func (b *backend) Ping(ctx context.Context, endpoint string) (plugins.Pong, error) {
	s, err := b.site(endpoint)
	if err != nil {
		return plugins.Pong{}, err
	}
	began := s.client.Now()
	_, err = s.client.Jobs(ctx, began)
	pong := plugins.Pong{Interface: glue.InterfaceWIKI, LetIn: err == nil, Latency: s.client.Now().Sub(began)}
	if failed, ok := errors.AsType[*plugins.Error](err); ok && failed.Kind == plugins.Credential {
		pong.Said = failed.Err.Error() + " (" + failed.Hint + ")"
		return pong, nil
	}
	return pong, err
}
