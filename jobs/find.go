package jobs

import (
	"context"
	"fmt"
	"strings"
)

// IDError is an id, or a part of one, that names no job or several.
type IDError struct {
	ID    string
	Found []string // the ids it could mean
}

// Error implements error.
func (e *IDError) Error() string {
	if len(e.Found) == 0 {
		return fmt.Sprintf("no job %s", e.ID)
	}
	more := ""
	found := e.Found
	if len(found) > 4 {
		found, more = found[:4], fmt.Sprintf(" and %d more", len(e.Found)-4)
	}
	return fmt.Sprintf("%s could be %s%s", e.ID, strings.Join(found, ", "), more)
}

// Find returns the jobs with the given ids, in that order. An id may be cut
// to a beginning or an end that is its alone; the id of a collection means
// all its jobs.
func (s *Store) Find(ctx context.Context, ids []string) ([]*Record, error) {
	var out []*Record
	seen := map[string]bool{}
	for _, id := range ids {
		found, err := s.find(ctx, strings.ToLower(strings.TrimSpace(id)))
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			if !seen[r.ID] {
				seen[r.ID] = true
				out = append(out, r)
			}
		}
	}
	return out, nil
}

func (s *Store) find(ctx context.Context, id string) ([]*Record, error) {
	if id == "" || strings.Trim(id, alphabet) != "" {
		return nil, &IDError{ID: id}
	}
	for _, try := range []struct {
		query string
		args  []any
		many  bool
	}{
		{"SELECT body FROM jobs WHERE id = ?", []any{id}, false},
		{"SELECT body FROM jobs WHERE parent = ? ORDER BY id", []any{id}, true},
		{"SELECT body FROM jobs WHERE id >= ? AND id < ? ORDER BY id", []any{id, id + "~"}, false},
		{"SELECT body FROM jobs WHERE id LIKE ? ORDER BY id", []any{"%" + id}, false},
		{"SELECT body FROM jobs WHERE parent LIKE ? ORDER BY id", []any{"%" + id}, true},
	} {
		found, err := s.records(ctx, try.query, try.args...)
		switch {
		case err != nil:
			return nil, err
		case len(found) == 1, len(found) > 1 && try.many && oneParent(found):
			return found, nil
		case len(found) > 1:
			e := &IDError{ID: id}
			for _, r := range found {
				e.Found = append(e.Found, r.ID)
			}
			return nil, e
		}
	}
	return nil, &IDError{ID: id}
}

func oneParent(rs []*Record) bool {
	for _, r := range rs {
		if r.Parent != rs[0].Parent {
			return false
		}
	}
	return true
}
