package jobs

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"gridbroker/durable"
	"gridbroker/plugins"
)

// own makes records that were copied fit to be used beside those they were copied from: what
// these do since, nobody here knows. Jobs are followed where they are; none is sent, tried again,
// or taken back by itself, and none that turns up late is cancelled. Records of a new file,
// and of an older program, are of the file that they are in.
func own(ctx context.Context, s *SQLite) error {
	here, known, err := ownPlace(ctx, s)
	if err != nil || known {
		return err
	}
	done, err := oneAtATime(s.dir)
	if err != nil {
		return err
	}
	defer done()
	if here, known, err = ownPlace(ctx, s); err != nil || known { // another process was faster
		return err
	}
	if err := disown(ctx, s); err != nil {
		return err
	}
	return s.tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE place SET file = ?", here)
		return err
	})
}

// ownPlace tells which file this is, and whether it is the one that the records have been in.
func ownPlace(ctx context.Context, s *SQLite) (here string, known bool, err error) {
	if here, err = durable.PlaceOf(filepath.Join(s.dir, "jobs.db")); err != nil {
		return "", false, err
	}
	was := ""
	err = s.db.QueryRowContext(ctx, "SELECT file FROM place").Scan(&was)
	if errors.Is(err, sql.ErrNoRows) {
		return here, true, s.tx(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO place SELECT ? WHERE NOT EXISTS (SELECT 1 FROM place)", here)
			return err
		})
	}
	return here, durable.SamePlace(was, here), err
}

// disown leaves all that goes on by itself to the records that these were copied from.
func disown(ctx context.Context, s *SQLite) error {
	rs, err := s.Select(ctx, Query{})
	if _, damaged := errors.AsType[*DamagedError](err); err != nil && !damaged {
		return err
	}
	_, err = s.Update(ctx, rs, func(r *Record) (Change, error) {
		r.NoRetry = r.NoRetry || !r.Final() || r.Failure()
		r.Past = slices.Clone(r.Past)
		for i := range r.Past {
			r.Past[i].Until, r.Past[i].Holding = time.Time{}, ""
		}
		if r.State != plugins.Intended {
			return Change{}, nil
		}
		return r.Apply(Unsure{}, s.now())
	})
	return err
}
