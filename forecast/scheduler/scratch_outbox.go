package scheduler

import (
	"cmp"
	"context"
	"slices"
)

// pending is an outbox in memory. Its one replica does what it has leased, or gives it
// back, before it leases more, so that a lease is no more than a time.
type pending struct {
	seq   int64
	open  []*entry            // not done, in order of their numbers
	ofJob map[string][]*entry // done ones, too: none is done twice
	// places tell where they are to be done.
	places *places
}

// entry is an action in it.
type entry struct {
	action
	due, until int64 // when it is to be done, and when its lease ends
	done       bool
}

// find is the action of a job that has a key; nil: there is none.
func (p *pending) find(job, key string) *entry {
	for _, e := range p.ofJob[job] {
		if e.Key == key {
			return e
		}
	}
	return nil
}

// add implements actions.
func (p *pending) add(_ context.Context, rows []actionRow, _ int64) error {
	for _, r := range rows {
		if p.find(r.Job, r.Key) != nil {
			continue
		}
		p.seq++
		e := &entry{action: action{ID: p.seq, Key: r.Key, Job: r.Job, Verb: r.Verb}, due: r.Due}
		p.open, p.ofJob[r.Job] = append(p.open, e), append(p.ofJob[r.Job], e)
	}
	return nil
}

// free tells whether an action may be leased.
func (p *pending) free(e *entry, l *leasing) bool {
	return e.due <= l.now && e.until < l.now && (len(l.but) == 0 || !slices.Contains(l.but, p.at(e)))
}

// at is where an action is to be done; "": its booking is not there.
func (p *pending) at(e *entry) string {
	if b := p.places.find(e.Job, e.Key[len(e.Verb)+1:]); b != nil {
		return b.Cluster
	}
	return ""
}

// due implements actions.
func (p *pending) due(_ context.Context, l leasing) (bool, error) {
	return slices.ContainsFunc(p.open, func(e *entry) bool { return p.free(e, &l) }), nil
}

// claim implements actions.
func (p *pending) claim(_ context.Context, l leasing) (list []action, err error) {
	var due []*entry
	for _, e := range p.open {
		if p.free(e, &l) {
			due = append(due, e)
		}
	}
	if len(due) > l.limit {
		slices.SortStableFunc(due, func(a, b *entry) int { return cmp.Compare(a.due, b.due) })
		due = due[:l.limit]
		slices.SortFunc(due, func(a, b *entry) int { return cmp.Compare(a.ID, b.ID) })
	}
	for _, e := range due {
		e.until = l.until
		e.Attempts++
		e.Cluster = p.at(e)
		list = append(list, e.action)
	}
	return list, nil
}

// held is an action that is not done and of which this is the last attempt; nil: there is none.
func (p *pending) held(a action) *entry {
	i, found := slices.BinarySearchFunc(p.open, a.ID, func(e *entry, id int64) int { return cmp.Compare(e.ID, id) })
	if !found || p.open[i].Attempts != a.Attempts {
		return nil
	}
	return p.open[i]
}

// end ends an action.
func (p *pending) end(e *entry) {
	e.done = true
	if i := slices.Index(p.open, e); i >= 0 {
		p.open = slices.Delete(p.open, i, i+1)
	}
}

// close implements actions.
func (p *pending) close(_ context.Context, a action, _ result) error {
	e := p.held(a)
	if e == nil {
		return errLeaseLost
	}
	p.end(e)
	return nil
}

// again implements actions.
func (p *pending) again(_ context.Context, a action, due int64, r result) error {
	if e := p.held(a); e != nil {
		e.until, e.due, e.Attempts = 0, due, e.Attempts-b2i(r.untaken)
	}
	return nil
}

// renew implements actions.
func (p *pending) renew(_ context.Context, a action, until int64) error {
	e := p.held(a)
	if e == nil {
		return errLeaseLost
	}
	e.until = until
	return nil
}

// drop implements actions.
func (p *pending) drop(_ context.Context, job, key string) (bool, error) {
	e := p.find(job, key)
	if e == nil || e.done || e.Attempts > 0 {
		return false, nil
	}
	p.end(e)
	return true, nil
}

// hurry implements actions.
func (p *pending) hurry(_ context.Context, job, key string, due int64) error {
	if e := p.find(job, key); e != nil && !e.done {
		e.due = min(e.due, due)
	}
	return nil
}

// forget implements actions.
func (p *pending) forget(_ context.Context, job string, due int64) (found bool, err error) {
	for _, e := range p.open {
		if e.Job == job && (e.Verb == clean || e.Verb == forget) {
			e.Key = string(forget) + e.Key[len(e.Verb):]
			e.Verb, e.due, e.until, e.Attempts, found = forget, due, 0, 0, true
		}
	}
	return found, nil
}
