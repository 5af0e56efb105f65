package scheduler

import (
	"context"
	"time"
)

// owedTime is how long the database may take to tell, of the ten seconds that Prometheus waits.
const owedTime = 3 * time.Second

// noteOwed makes what is to be done at sites known to monitors. Where the database does not tell they are told nothing of it.
func noteOwed(ctx context.Context, s *Scheduler) error {
	ctx, cancel := context.WithTimeout(ctx, owedTime)
	defer cancel()
	count, err := owed(ctx, s.store, s.now())
	if err != nil {
		s.meter.owed.Reset()
		return err
	}
	for v, n := range count {
		s.meter.owed.WithLabelValues(string(v)).Set(float64(n))
	}
	return nil
}

// owed is of each verb how many actions are not done whose time has come. What was tried in vain waits for a time of its own, and counts.
func owed(ctx context.Context, s *Store, now time.Time) (map[verb]int64, error) {
	count := map[verb]int64{launch: 0, withdraw: 0, end: 0, collect: 0, clean: 0, forget: 0}
	err := s.read(ctx, func(h handle) error {
		return h.rows(ctx, func(scan func(...any) error) error {
			var v string
			var n int64
			err := scan(&v, &n)
			count[verb(v)] = n
			return err
		}, "select verb, count(*) from action where done = 0 and (due <= $1 or attempts > 0) group by verb", now.Unix())
	})
	return count, err
}
