package scheduler

import (
	"context"
	"maps"
	"time"
)

// How long an entry may come after one of a higher number, and how many are waited for: PostgreSQL numbers
// entries before they are committed.
const (
	lateEntry   = 30 * time.Second
	lateEntries = 1000
)

// tail follows the end of the log.
type tail struct {
	last    int64 // number of the newest entry that was read; -1: none yet
	missing map[int64]time.Time
}

// entries are those that have come since it was read last. The first time there are none: it finds out where the log ends.
func (t *tail) entries(ctx context.Context, s *Store, now time.Time) ([]Entry, error) {
	if t.last < 0 {
		t.last, t.missing = s.lastEntry(ctx), map[int64]time.Time{}
		return nil, nil
	}
	late, err := t.late(ctx, s, now)
	if err != nil {
		return nil, err
	}
	list, err := s.Log(ctx, "", t.last, 1000)
	if err != nil {
		return nil, err
	}
	for _, e := range late {
		delete(t.missing, e.ID)
	}
	for _, e := range list {
		for id := max(t.last+1, e.ID-lateEntries); id < e.ID && len(t.missing) < lateEntries; id++ {
			t.missing[id] = now.Add(lateEntry)
		}
		t.last = e.ID
	}
	return append(late, list...), nil
}

// late are the entries that were missing before ones of a higher number.
func (t *tail) late(ctx context.Context, s *Store, now time.Time) (list []Entry, err error) {
	var ids []int64
	for id, until := range t.missing {
		if now.After(until) {
			delete(t.missing, id) // taken back, or nobody's
			continue
		}
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	text, err := jsonText(ids)
	if err != nil {
		return nil, err
	}
	return entriesWhere(ctx, s, "id in (select cast(t.value as {int}) from {texts}) order by id", text)
}

// clone is a copy that goes on by itself.
func (t tail) clone() tail {
	t.missing = maps.Clone(t.missing)
	return t
}
