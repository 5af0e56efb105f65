package scheduler

import (
	"cmp"
	"slices"
)

// pending is the outbox of a scratch database. Its one replica does what it has leased, or gives it
// back, before it leases more, so that a lease is no more than a time.
type pending struct {
	seq   int64
	open  []*entry            // not done, in order of their numbers
	ofJob map[string][]*entry // done ones, too: none is done twice
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

// add takes new actions in; one whose key is there already, done or not, is left out.
func (p *pending) add(rows []actionRow) {
	for _, r := range rows {
		if p.find(r.Job, r.Key) != nil {
			continue
		}
		p.seq++
		e := &entry{action: action{ID: p.seq, Key: r.Key, Job: r.Job, Verb: r.Verb}, due: r.Due}
		p.open, p.ofJob[r.Job] = append(p.open, e), append(p.ofJob[r.Job], e)
	}
}

// claim leases what is due, of more than a limit what was due first.
func (p *pending) claim(now, until int64, limit int) (list []action) {
	var due []*entry
	for _, e := range p.open {
		if e.due <= now && e.until < now {
			due = append(due, e)
		}
	}
	if len(due) > limit {
		slices.SortStableFunc(due, func(a, b *entry) int { return cmp.Compare(a.due, b.due) })
		due = due[:limit]
		slices.SortFunc(due, func(a, b *entry) int { return cmp.Compare(a.ID, b.ID) })
	}
	for _, e := range due {
		e.until = until
		e.Attempts++
		list = append(list, e.action)
	}
	return list
}

// held is an action that is not done and of which this is the last attempt; nil: there is none.
func (p *pending) held(a action) *entry {
	i, found := slices.BinarySearchFunc(p.open, a.ID, func(e *entry, id int64) int { return cmp.Compare(e.ID, id) })
	if !found || p.open[i].Attempts != a.Attempts {
		return nil
	}
	return p.open[i]
}

// close ends an action.
func (p *pending) close(e *entry) {
	e.done = true
	if i := slices.Index(p.open, e); i >= 0 {
		p.open = slices.Delete(p.open, i, i+1)
	}
}

// drop ends an action that nobody has tried; false: it was tried, or is done.
func (p *pending) drop(job, key string) bool {
	e := p.find(job, key)
	if e == nil || e.done || e.Attempts > 0 {
		return false
	}
	p.close(e)
	return true
}

// hurry has an action done by a time.
func (p *pending) hurry(job, key string, due int64) {
	if e := p.find(job, key); e != nil && !e.done {
		e.due = min(e.due, due)
	}
}

// forget has a job's site forget it at a time; false: nothing was to be removed there.
func (p *pending) forget(job string, due int64) (found bool) {
	for _, e := range p.open {
		if e.Job == job && (e.Verb == clean || e.Verb == forget) {
			e.Key = string(forget) + e.Key[len(e.Verb):]
			e.Verb, e.due, e.until, e.Attempts, found = forget, due, 0, 0, true
		}
	}
	return found
}

// leave forgets what was done of a job for which there will be nothing more.
func (p *pending) leave(job string) { delete(p.ofJob, job) }
