package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"gridbroker/plugins"
)

// again knows of the records that somebody asks for again and again as what they were stored: who follows thousands of jobs
// of which hardly any has changed reads their checksums only. The zero again knows none.
type again struct {
	mu  sync.Mutex
	sum map[*Record]string
}

// wrote takes in as what a record is stored now, if it is asked for again and again.
func (a *again) wrote(r *Record, sum string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.sum[r]; ok {
		a.sum[r] = sum
	}
}

// same are those of the records that are as stored, by id. Of a job that is yet to be sent the record is written over by who
// tries to: it is never the same.
func (a *again) same(had []*Record, sums map[string]string) map[string]*Record {
	a.mu.Lock()
	defer a.mu.Unlock()
	same := make(map[string]*Record, len(had))
	for _, r := range had {
		sum, there := sums[r.ID]
		if there && sum != "" && a.sum[r] == sum && r.State != plugins.Intended {
			same[r.ID] = r
		}
	}
	return same
}

// gave puts the records that were given in the place of those that were had before.
func (a *again) gave(had, now []*Record, sums map[string]string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sum == nil {
		a.sum = make(map[*Record]string, len(now))
	}
	for _, r := range had {
		delete(a.sum, r)
	}
	for _, r := range now {
		a.sum[r] = sums[r.ID]
	}
}

// selectAgain is Select of what is asked for again and again: records that are stored as they were had are not read.
func selectAgain(ctx context.Context, s *SQLite, q Query) ([]*Record, error) {
	ids, sums, err := sumsOf(ctx, s, q)
	if err != nil {
		return nil, err
	}
	found := s.again.same(q.Had, sums)
	changed := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return found[id] != nil })
	var bad damage
	for part := range slices.Chunk(changed, readAtOnce) {
		rs, err := ofThose(ctx, s, q, part, sums)
		if damaged, ok := errors.AsType[*DamagedError](err); ok {
			bad.join(damaged)
		} else if err != nil {
			return nil, err
		}
		for _, r := range rs {
			one := *r // those that are read together lie in one piece
			found[r.ID] = &one
		}
	}
	out := make([]*Record, 0, len(ids))
	for _, id := range ids {
		if r := found[id]; r != nil {
			out = append(out, r)
		}
	}
	s.again.gave(q.Had, out, sums)
	return out, bad.err()
}

// sumsOf are the ids that a query finds, in its order, and the checksums of their records.
func sumsOf(ctx context.Context, s *SQLite, q Query) (ids []string, sums map[string]string, err error) {
	where, args := q.where()
	text := "SELECT id, sum FROM jobs WHERE " + where + " ORDER BY " + q.order()
	if q.Limit > 0 {
		text += fmt.Sprintf(" LIMIT %d", q.Limit)
	}
	rows, err := s.db.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	sums = make(map[string]string, len(q.Had))
	for rows.Next() {
		var id, sum sql.NullString // of a damaged page there may be nothing in the place of a text
		if err := rows.Scan(&id, &sum); err != nil {
			return nil, nil, err
		}
		ids, sums[id.String] = append(ids, id.String), sum.String
	}
	return ids, sums, rows.Err()
}

// ofThose reads the records with some ids that a query finds still. Sums takes in what they are stored as.
func ofThose(ctx context.Context, s *SQLite, q Query, ids []string, sums map[string]string) ([]*Record, error) {
	where, args := q.where()
	for _, id := range ids {
		args = append(args, id)
	}
	return readAll(ctx, s, sums, where+" AND id IN (?"+strings.Repeat(",?", len(ids)-1)+")", args...)
}
