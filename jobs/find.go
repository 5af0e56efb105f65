package jobs

import (
	"errors"
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

// UnfoundError is what of some ids was not found, while the others were: an *IDError or a *DamagedError for each.
type UnfoundError struct{ Errs []error }

// mostUnfound is how many ids that were not found are named to a user: a list of thousands of ids may be one of another machine's jobs.
const mostUnfound = 20

// Lines tell a user of the first of them, and how many more there are.
func (e *UnfoundError) Lines() (list []string) {
	for _, err := range e.Errs[:min(len(e.Errs), mostUnfound)] {
		list = append(list, err.Error())
	}
	if more := len(e.Errs) - mostUnfound; more > 0 {
		list = append(list, fmt.Sprintf("and %d more that were not found", more))
	}
	return list
}

// Error implements error.
func (e *UnfoundError) Error() string { return strings.Join(e.Lines(), "\n") }

// Unwrap returns all of them.
func (e *UnfoundError) Unwrap() []error { return e.Errs }

// findAll looks ids up by way of a store's own look-up.
func findAll(ids []string, look func(w way, id string) ([]*Record, error)) ([]*Record, error) {
	var out []*Record
	var unfound []error
	asked, seen := map[string]bool{}, map[string]bool{}
	for _, id := range ids {
		typed := strings.TrimSpace(id)
		if id = strings.ToLower(typed); asked[id] {
			continue
		}
		asked[id] = true
		found, err := findOne(id, look)
		if unknown, ok := errors.AsType[*IDError](err); ok {
			unknown.ID = typed
		}
		if err != nil && !ofOneID(err) {
			return nil, err
		}
		if err != nil {
			unfound = append(unfound, err)
		}
		for _, r := range found {
			if !seen[r.ID] {
				seen[r.ID] = true
				out = append(out, r)
			}
		}
	}
	if len(unfound) > 0 {
		return out, &UnfoundError{unfound}
	}
	return out, nil
}

// ofOneID reports whether an error is of the id that was looked up and not of the look-up.
func ofOneID(err error) bool {
	_, unknown := errors.AsType[*IDError](err)
	_, damaged := errors.AsType[*DamagedError](err)
	return unknown || damaged
}

func findOne(id string, look func(w way, id string) ([]*Record, error)) ([]*Record, error) {
	if len(id) < ShortestID || strings.Trim(id, alphabet) != "" {
		return nil, &IDError{ID: id}
	}
	for w := whole; w <= lastWay(id); w++ {
		found, err := look(w, id)
		if err != nil && !ofOneID(err) {
			return nil, err
		}
		fit := fitting(found, err)
		many := w == parentOf || w == parentEnd
		switch {
		case len(fit) == 1, len(fit) > 1 && many && oneParent(found):
			return found, err
		case len(fit) > 1:
			return nil, &IDError{ID: id, Found: fit}
		}
	}
	return nil, &IDError{ID: id}
}

// lastWay is the last that is worth trying: an id of full length is the end of no
// other, and to look for ends reads all records.
func lastWay(id string) way {
	if len(id) >= idLength {
		return parentOf
	}
	return parentEnd
}

// fitting are the ids of what was found, damaged records among them: they, too, could be meant.
func fitting(found []*Record, err error) (ids []string) {
	for _, r := range found {
		ids = append(ids, r.ID)
	}
	if damaged, ok := errors.AsType[*DamagedError](err); ok {
		ids = append(ids, damaged.IDs...)
	}
	return ids
}

func oneParent(rs []*Record) bool {
	for _, r := range rs {
		if r.Parent != rs[0].Parent {
			return false
		}
	}
	return true
}
