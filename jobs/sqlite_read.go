package jobs

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"gridbroker/broker"
	"gridbroker/plugins"
)

// Log implements Store.
func (s *SQLite) Log(ctx context.Context, id string) (_ []Entry, err error) {
	defer s.tell(&err)
	rows, err := s.db.QueryContext(ctx, "SELECT at, action, text FROM log WHERE job = ? ORDER BY at, rowid", id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []Entry
	for rows.Next() {
		e, ms := Entry{Job: id}, int64(0)
		if err := rows.Scan(&ms, &e.Action, &e.Text); err != nil {
			return nil, err
		}
		e.At = time.UnixMilli(ms)
		out = append(out, e)
	}
	return out, rows.Err()
}

// Select implements Store.
func (s *SQLite) Select(ctx context.Context, q Query) (_ []*Record, err error) {
	defer s.tell(&err)
	if q.Again {
		return selectAgain(ctx, s, q)
	}
	where, args := q.where()
	where += " ORDER BY " + q.order()
	if q.Limit <= 0 {
		return readAll(ctx, s, nil, where, args...)
	}
	rows, err := s.db.QueryContext(ctx, "SELECT id, body, sum FROM jobs WHERE "+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	return first(rows, q.Limit)
}

// Count implements Store.
func (s *SQLite) Count(ctx context.Context, q Query) (n int, err error) {
	defer s.tell(&err)
	where, args := q.where()
	err = s.db.QueryRowContext(ctx, "SELECT count(*) FROM jobs WHERE "+where, args...).Scan(&n)
	return n, err
}

// order is a query's order in SQL.
func (q Query) order() string {
	if q.Backwards {
		return "id DESC"
	}
	return "id"
}

// where is a query's condition in SQL.
func (q Query) where() (string, []any) {
	where, args := []string{"1"}, []any{}
	if len(q.States) > 0 {
		where = append(where, "state IN (?"+strings.Repeat(",?", len(q.States)-1)+")")
		for _, st := range q.States {
			args = append(args, string(st))
		}
	}
	if q.Live {
		where = append(where, liveOnes)
	}
	if !q.Since.IsZero() {
		where, args = append(where, "created >= ?"), append(args, q.Since.UnixMilli())
	}
	if least := q.leastID(); least != "" {
		where, args = append(where, "id >= ?"), append(args, least)
	}
	if q.Parent != "" {
		where, args = append(where, ofGroup), append(args, q.Parent)
	}
	if !q.Loose.IsZero() {
		where, args = append(where, "loose > ? AND loose <> 0"), append(args, q.Loose.UnixMilli())
	}
	return strings.Join(where, " AND "), args
}

// liveOnes is the condition for the jobs that have not ended, whatever their states are called: those between the final
// ones in the order of the index. So the ended ones, of which there may be many more, are not even looked at.
const liveOnes = `id IN (SELECT id FROM jobs WHERE state < 'cancelled' OR state > 'cancelled' AND state < 'done'
	OR state > 'done' AND state < 'failed' OR state > 'failed' AND state < 'lost' OR state > 'lost')`

// ofGroup is the condition for the jobs of a group. The index of groups is used where it is said that there is one.
const ofGroup = "parent = ? AND parent <> ''"

// Find implements Store.
func (s *SQLite) Find(ctx context.Context, ids []string) ([]*Record, error) {
	return findAll(ids, func(w way, id string) ([]*Record, error) {
		switch w {
		case whole:
			return s.records(ctx, "id = ?", id)
		case parentOf:
			return s.records(ctx, ofGroup, id)
		case beginning:
			return s.records(ctx, "id >= ? AND id < ?", id, id+"~")
		case end:
			return s.records(ctx, "id LIKE ?", "%"+id)
		}
		return s.records(ctx, "parent LIKE ?", "%"+id)
	})
}

func (s *SQLite) records(ctx context.Context, where string, args ...any) (_ []*Record, err error) {
	defer s.tell(&err)
	return readAll(ctx, s, nil, where+" ORDER BY id", args...)
}

// readAll reads all records that a condition finds, in the order behind it. Sums takes in their checksums, unless it is nil.
func readAll(ctx context.Context, s *SQLite, sums map[string]string, where string, args ...any) ([]*Record, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT id, body, sum FROM jobs WHERE "+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	return allOf(rows, sums)
}

// allOf reads all records of an answer. Sums takes in their checksums, unless it is nil.
func allOf(rows *sql.Rows, sums map[string]string) ([]*Record, error) {
	d := decoding{sums: sums}
	defer d.work.Wait()
	for rows.Next() {
		if err := d.take(rows); err != nil {
			return nil, err
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return d.records()
}

// first reads the first n records of an answer that can be read, and nothing behind them.
func first(rows *sql.Rows, n int) ([]*Record, error) {
	var out []*Record
	var bad damage
	for len(out) < n && rows.Next() {
		var id string
		var body row
		if err := rows.Scan(&id, &body.body, &body.sum); err != nil {
			return nil, err
		}
		r := &Record{}
		if err := decode(body.body, body.sum, r); err != nil {
			bad.add(id, err)
			continue
		}
		out = append(out, r)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return out, bad.err()
}

// UnderWay implements Store.
func (s *SQLite) UnderWay(ctx context.Context, since time.Time) (_ map[string][]broker.Sent, err error) {
	defer s.tell(&err)
	rows, err := s.db.QueryContext(ctx, `SELECT json_extract(body, '$.resource'), coalesce(json_extract(body, '$.sent'), ''), coalesce(json_extract(body, '$.slots'), 1)
		FROM jobs WHERE state IN (?,?,?,?,?) AND created >= ? AND json_valid(body) AND json_extract(body, '$.resource') <> ''`,
		plugins.Submitting, plugins.Accepted, plugins.Preparing, plugins.Queued, plugins.Running, since.UnixMilli())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string][]broker.Sent{}
	for rows.Next() {
		var resource, at string
		var j broker.Sent
		if err := rows.Scan(&resource, &at, &j.Slots); err != nil {
			return nil, err
		}
		if at != "" {
			if j.At, err = time.Parse(time.RFC3339Nano, at); err != nil {
				return nil, err
			}
		}
		all[resource] = append(all[resource], j)
	}
	return all, rows.Err()
}
