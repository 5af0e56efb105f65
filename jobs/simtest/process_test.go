package simtest

import (
	"context"
	"errors"
	"runtime"
	"time"

	"gridbroker/broker"
	"gridbroker/broker/brokertest"
	"gridbroker/broker/clock"
	"gridbroker/glue"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

// Now implements clock.Clock: the time of the process's machine, which jumps.
func (p *process) Now() time.Time { return p.now.Add(*p.shift) }

// After implements clock.Clock: it waits at once, since a process does one
// thing at a time. One that was killed ends here: with no call to the store on
// its way it would look at its jobs for ever.
func (p *process) After(d time.Duration) <-chan time.Time {
	if p.dead {
		runtime.Goexit()
	}
	p.sleep(d)
	c := make(chan time.Time, 1)
	c <- p.Now()
	return c
}

// Steady implements clock.Steady.
func (p *process) Steady() clock.Reading { return clock.Reading{Start: "boot", Up: p.now.Sub(begin)} }

// errKilled is what a killed process gets from everything: it has no effect.
var errKilled = errors.New("killed")

// store is the shared store as one process has it.
type store struct {
	*shared
	p *process
}

// shared is the store of all processes, with the leases they hold.
type shared struct {
	jobs.Store
	leases map[string]*process
	plant  plant
}

func (s store) begin() error {
	s.p.sleep(s.p.between(time.Millisecond, 5*time.Millisecond))
	if !s.p.effect() {
		return errKilled
	}
	return nil
}

// end is after what was done is safe, and before the process knows.
func (s store) end(err error) error {
	if !s.p.effect() {
		return errKilled
	}
	return err
}

func (s store) Add(ctx context.Context, rs []*jobs.Record) error {
	if err := s.begin(); err != nil {
		return err
	}
	return s.end(s.Store.Add(ctx, rs))
}

func (s store) Update(ctx context.Context, rs []*jobs.Record, f func(*jobs.Record) (jobs.Change, error)) ([]error, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	if s.plant == unsafeStore && s.p.killAt > 0 && s.p.effects+3 >= s.p.killAt {
		// Says that it is done, and what it was told is lost with the process.
		errs := make([]error, len(rs))
		for i, r := range rs {
			_, errs[i] = f(r)
		}
		return errs, s.end(nil)
	}
	errs, err := s.Store.Update(ctx, rs, f)
	return errs, s.end(err)
}

func (s store) Select(ctx context.Context, q jobs.Query) ([]*jobs.Record, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	if s.plant == straysForgotten && !q.Loose.IsZero() {
		return nil, nil
	}
	rs, err := s.Store.Select(ctx, q)
	return rs, s.end(err)
}

func (s store) Lease(name string) (jobs.Lease, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	s.leases[name] = s.p
	return lease{s.shared, name}, nil
}

func (s store) Alive(name string) bool {
	p := s.leases[name]
	return p != nil && !p.dead
}

type lease struct {
	of   *shared
	name string
}

func (l lease) Name() string { return l.name }
func (l lease) End()         { delete(l.of.leases, l.name) }

// plant is a fault that is planted to see whether it is found.
type plant string

const (
	noSettling      plant = "a job not found is believed not to have arrived at once"
	straysForgotten plant = "attempts that were given up are not looked up again"
	unsafeStore     plant = "what is recorded is lost with the process"
	blindFinder     plant = "a back-end that cannot be asked is taken to have nothing"
	wrongKind       plant = "a back-end calls an outcome refused that is uncertain"
)

// controller is the program as a process runs it.
func (p *process) controller(s *shared, net *network, patient bool) *jobs.Controller {
	reg, err := plugins.NewRegistry(plugins.Opened{Backend: plugins.Backend{Interfaces: []string{glue.InterfaceARCREST}}, Submitter: client{net, p}})
	if err != nil {
		panic(err)
	}
	b := brokertest.New(func(b *broker.Broker) {
		b.Clock, b.Registry, b.Rules.MaxAge = p, reg, 1000*24*time.Hour
		b.Seed = p.rng.Uint64()
	})
	c := &jobs.Controller{Broker: b, Store: store{s, p}, AtOnce: 1}
	if s.plant == noSettling {
		c.Settle = time.Nanosecond
	}
	return c
}
