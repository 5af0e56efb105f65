package scheduler

import (
	"context"
	"time"
)

// Entry is one line of the log of actions.
type Entry struct {
	ID      int64  `json:"id"`
	At      int64  `json:"at" doc:"milliseconds of Unix time"`
	Job     string `json:"job,omitempty"`
	Cluster string `json:"cluster,omitempty"`
	Who     string `json:"who,omitempty"`
	Event   string `json:"event"`
	Said    string `json:"said,omitempty"`
}

// journal is the log of actions, as a transaction has it.
type journal interface {
	// write appends to it.
	write(ctx context.Context, epoch int64, list []Entry) error
}

// logTable is the log in a table.
type logTable struct{ *statements }

// write implements journal.
func (h logTable) write(ctx context.Context, epoch int64, list []Entry) error {
	if len(list) == 0 {
		return nil
	}
	return h.writeEach(ctx, `insert into log (at, epoch, job, cluster, who, event, said)
		select cast(t.value->>'at' as {int}), $2, coalesce(t.value->>'job', ''), coalesce(t.value->>'cluster', ''),
		coalesce(t.value->>'who', ''), t.value->>'event', coalesce(t.value->>'said', '') from {each} where true`, list, epoch)
}

// Log reads the log of a job, oldest first; after an entry; "" is that of all.
func (s *Store) Log(ctx context.Context, job string, after int64, limit int) (list []Entry, err error) {
	return entriesWhere(ctx, s, "(job = $1 or $1 = '') and id > $2 order by id limit $3", job, after, limit)
}

func entriesWhere(ctx context.Context, s *Store, which string, args ...any) (list []Entry, err error) {
	err = s.read(ctx, func(h handle) error {
		return h.rows(ctx, func(scan func(...any) error) error {
			var e Entry
			err := scan(&e.ID, &e.At, &e.Job, &e.Cluster, &e.Who, &e.Event, &e.Said)
			list = append(list, e)
			return err
		}, "select id, at, job, cluster, who, event, said from log where "+which, args...)
	})
	return list, err
}

func millis(t time.Time) int64 { return t.UnixMilli() }
