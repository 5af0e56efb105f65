package jobs

import (
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
	if len(e.Found) == 0 && len(e.ID) < ShortestID {
		return fmt.Sprintf("no job %s: say %d characters of the id or more", e.ID, ShortestID)
	}
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

// ShortestID is how much of an id names a job: less would name too easily a job that nobody meant.
const ShortestID = 4

// way is how an id may name jobs, in the order they are tried.
type way int

const (
	whole way = iota // the id
	parentOf
	beginning
	end
	parentEnd
)

// findAll looks ids up by way of a store's own look-up.
func findAll(ids []string, look func(w way, id string) ([]*Record, error)) ([]*Record, error) {
	var out []*Record
	seen := map[string]bool{}
	for _, id := range ids {
		found, err := findOne(strings.ToLower(strings.TrimSpace(id)), look)
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

func findOne(id string, look func(w way, id string) ([]*Record, error)) ([]*Record, error) {
	if len(id) < ShortestID || strings.Trim(id, alphabet) != "" {
		return nil, &IDError{ID: id}
	}
	for w := whole; w <= parentEnd; w++ {
		found, err := look(w, id)
		many := w == parentOf || w == parentEnd
		switch {
		case err != nil:
			return nil, err
		case len(found) == 1, len(found) > 1 && many && oneParent(found):
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
