package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Run serves until the context ends: the outbox always, cycles and looks at
// the sites while this replica leads.
func (s *Scheduler) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	said := seldom{}
	s.clock.compare(ctx, s, said)
	g.Go(func() error {
		for s.pause(ctx, s.clock.every) {
			s.clock.compare(ctx, s, said)
		}
		return nil
	})
	g.Go(func() error { return outbox{s}.run(ctx) })
	g.Go(func() error { return s.tidy(ctx) })
	g.Go(func() error { return s.relay(ctx) })
	g.Go(func() error { return agree(ctx, s) })
	g.Go(func() error {
		said := seldom{}
		for ctx.Err() == nil {
			if err := s.term(ctx, len(said) > 0); err != nil && ctx.Err() == nil {
				if said.is(err, s.now()) {
					s.log.Warn("not leading", "error", err)
				}
				s.pause(ctx, 200*time.Millisecond)
			}
		}
		return nil
	})
	return g.Wait()
}

// seldom is what was said of troubles that are tried again several times a second, and when: a
// database that is away for an hour is no reason for thousands of lines.
type seldom map[string]time.Time

// manyTroubles is of how many different ones it is remembered when they were told.
const manyTroubles = 50

// is tells whether it is to be said: what is new, and once in a minute.
func (s seldom) is(err error, now time.Time) bool {
	text := err.Error()
	if at, told := s[text]; told && now.Sub(at) < time.Minute && !now.Before(at) {
		return false
	}
	if len(s) >= manyTroubles {
		clear(s)
	}
	s[text] = now
	return true
}

// troubles are what many ask about at once.
type troubles struct {
	mu   sync.Mutex
	last seldom
}

// is tells whether it is to be said.
func (t *troubles) is(err error, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == nil {
		t.last = seldom{}
	}
	return t.last.is(err, now)
}

// term waits for this replica's turn to lead and leads. Where it was told why it does not, it is told that it does again.
func (s *Scheduler) term(ctx context.Context, again bool) error {
	if err := s.clock.fault(); err != nil {
		return err
	}
	l, err := s.store.Campaign(ctx, s.conf.Name)
	if err != nil {
		return err
	}
	defer l.Resign()
	if err := leave(ctx, s, l.Epoch); err != nil {
		return err
	}
	level := slog.LevelInfo
	if again {
		level = slog.LevelWarn
	}
	s.log.Log(ctx, level, "leading", "epoch", l.Epoch)
	s.setLead(l.Epoch)
	defer s.setLead(0)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func(over <-chan struct{}) {
		select {
		case <-l.Lost:
			cancel(errLeadLost)
		case <-over:
		}
	}(ctx.Done())
	g, leading := errgroup.WithContext(ctx)
	g.Go(func() error { return s.cycles(leading, l) })
	g.Go(func() error { return s.clock.until(leading) })
	g.Go(func() error { return newFollower(s).run(leading) })
	g.Go(func() error { return seek(leading, s) })
	err = g.Wait()
	if cause := context.Cause(ctx); errors.Is(cause, errLeadLost) {
		return cause
	}
	return err
}

// errLeadLost is a leader's session that is no more.
var errLeadLost = fmt.Errorf("the database has ended the leader's session, or was silent for %v", hungAfter)

func (s *Scheduler) setLead(epoch int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store.fresh.leave(s.mem)
	s.lead, s.mem = epoch, nil
	s.store.fresh.keep(epoch > 0)
	s.meter.leader.Set(float64(b2i(epoch > 0)))
}

// Leads tells whether this replica plans.
func (s *Scheduler) Leads() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lead > 0
}

// cycles plans again and again. What comes in between cycles is taken at once
// when it is news of jobs or sites, so that a user does not wait for nothing.
func (s *Scheduler) cycles(ctx context.Context, l *Leadership) error {
	said := seldom{}
	for {
		r, err := s.Cycle(ctx, l.Epoch)
		switch {
		case errors.Is(err, ErrDeposed), ctx.Err() != nil:
			return err
		case err != nil:
			if said.is(err, s.now()) {
				s.log.Error("nothing was planned; the next cycle tries again", "error", err)
			}
			if !s.pause(ctx, 500*time.Millisecond) {
				return ctx.Err()
			}
			continue
		case r.Booked > 0 || r.Messages > 0:
			s.log.Info("cycle", "messages", r.Messages, "jobs", r.Jobs, "slots", r.Slots, "booked", r.Booked, "took", r.Took)
		}
		if r.Messages == maxMessages {
			continue
		}
		if !s.rest(ctx, l) {
			return ctx.Err()
		}
	}
}

// together is for how long news are gathered before they are taken.
const together = 100 * time.Millisecond

// rest waits for the next cycle.
func (s *Scheduler) rest(ctx context.Context, l *Leadership) bool {
	t := time.NewTimer(s.conf.Cycle)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	case <-s.wake:
	case <-l.Woken:
	}
	if !s.pause(ctx, together) {
		return false
	}
	for _, heard := range []<-chan struct{}{s.wake, l.Woken} { // of what the next cycle takes anyway
		select {
		case <-heard:
		default:
		}
	}
	return true
}

func (s *Scheduler) pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// tidy removes what nobody needs any more: output of old jobs, outbox entries
// that are done.
func (s *Scheduler) tidy(ctx context.Context) error {
	for s.pause(ctx, 10*time.Minute) {
		if err := tidyUp(ctx, s); err != nil && ctx.Err() == nil {
			s.log.Warn("what is old was not removed from the database; it is tried again in ten minutes", "error", err)
		}
	}
	return nil
}

func tidyUp(ctx context.Context, s *Scheduler) error {
	old := s.now().Add(-s.conf.KeepOutput)
	return s.store.tx(ctx, func(h handle) error {
		if err := cleanAnew(ctx, h, s.now().Unix()); err != nil {
			return err
		}
		if _, err := h.exec(ctx, "delete from action where done = 1 and due < $1", old.Unix()); err != nil {
			return err
		}
		if err := (past{h}).forgetPast(ctx, s.now().Unix()); err != nil {
			return err
		}
		_, err := h.exec(ctx, `delete from file where job in (select distinct job from log where at < $1 and event in ('done', 'failed', 'cancelled'))`, old.UnixMilli())
		return err
	})
}
