package scheduler

import (
	"context"
	"time"
)

// Restored notes that the database is an older copy, brought back now. What was
// launched since the copy was made is not known to it: every job from before now
// is looked up at its site, by the name that its next request would bear, before
// it is sent. One that is there is followed and not sent again.
func (s *Store) Restored(ctx context.Context, now time.Time) error {
	return s.tx(ctx, func(h handle) error {
		if _, err := h.exec(ctx, "delete from restored"); err != nil {
			return err
		}
		if _, err := h.exec(ctx, "insert into restored (at) values ($1)", now.Unix()); err != nil {
			return err
		}
		return h.log.write(ctx, 0, []Entry{{At: millis(now), Who: "operator", Event: "restored", Said: "an older copy of the database"}})
	})
}

// doubtful tells whether a job may be further than the database knows.
func (s *Store) doubtful(ctx context.Context, j *Job) (doubt bool, err error) {
	err = s.read(ctx, func(h handle) error {
		doubt, err = h.reign.doubtful(ctx, j)
		return err
	})
	return doubt, err
}

// doubtful implements reign.
func (h reignTable) doubtful(ctx context.Context, j *Job) (bool, error) {
	at, err := h.restored(ctx)
	return j.Submitted <= at, err
}

// restored implements reign.
func (h reignTable) restored(ctx context.Context) (at int64, err error) {
	err = h.rows(ctx, func(scan func(...any) error) error { return scan(&at) }, "select at from restored")
	return at, err
}
