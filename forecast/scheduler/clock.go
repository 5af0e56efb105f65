package scheduler

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// clockEvery is how often a replica compares its clock with the database's.
const clockEvery = 5 * time.Second

// timepiece is how this replica's clock stands to that of the database, which all replicas have: one that is off by more
// than leaseMargin would take what others are at for given up, and all schedules for stale.
type timepiece struct {
	every time.Duration // between two comparisons
	mu    sync.Mutex
	wrong error
}

// fault is why this replica may not act; nil: it may.
func (t *timepiece) fault() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.wrong
}

// compare looks how the clocks stand. While the database does not answer what was found before holds.
func (t *timepiece) compare(ctx context.Context, s *Scheduler, said seldom) {
	ahead, err := ClockAhead(ctx, s.store, s.now)
	if err != nil {
		return
	}
	s.meter.ahead.Set(ahead.Seconds())
	wrong := CheckClock(ahead)
	if wrong != nil && said.is(errClock, time.Now()) {
		s.log.Error("this replica neither leads, nor sends jobs, nor takes anything", "error", wrong)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wrong = wrong
}

// until ends with an error when the clock has come to be wrong.
func (t *timepiece) until(ctx context.Context) error {
	for {
		if err := t.fault(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// CheckClock tells whether a replica's clock may be so far ahead of the database's.
func CheckClock(ahead time.Duration) error {
	if ahead.Abs() <= leaseMargin {
		return nil
	}
	how := "ahead of"
	if ahead < 0 {
		how = "behind"
	}
	return fmt.Errorf("%w: it is %v %s the database's, %v are allowed", errClock, ahead.Abs().Round(time.Second), how, leaseMargin)
}

var errClock = errors.New("the clock of this machine or of the database is wrong")

// ClockAhead is by how much a clock is ahead of the database's; what the answer took counts as no difference. An
// embedded database goes by the clock of its machine.
func ClockAhead(ctx context.Context, s *Store, now func() time.Time) (time.Duration, error) {
	if s.Embedded() {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, clockEvery)
	defer cancel()
	var there float64
	before := now()
	if err := s.db.QueryRowContext(ctx, "select extract(epoch from clock_timestamp())::double precision").Scan(&there); err != nil {
		return 0, err
	}
	after, at := now(), time.UnixMicro(int64(there*1e6))
	switch {
	case at.Before(before):
		return before.Sub(at), nil
	case at.After(after):
		return after.Sub(at), nil
	}
	return 0, nil
}
