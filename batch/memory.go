package batch

import (
	"encoding/json"
	"fmt"
	"slices"
)

// memory is the document in which a Live keeps what it has learned. It only
// ever gains fields.
type memory struct {
	Schema   string                   `json:"schema"` // memorySchema
	Belief   string                   `json:"belief"` // one of BeliefNames
	Users    map[string]userMemory    `json:"users,omitempty"`
	All      [][3]int64               `json:"all,omitempty"`  // of History: run, limit, processors; the oldest first
	Like     map[int][][3]int64       `json:"like,omitempty"` // of Similar: the same by the size of the limit
	Errors   *Errors                  `json:"errors,omitempty"`
	Promises map[string]promiseMemory `json:"promises,omitempty"` // first forecasts of waiting jobs
	Beside   *besideMemory            `json:"beside,omitempty"`
	Fates    map[string]fateMemory    `json:"fates,omitempty"` // of jobs that others wait for
}

// besideMemory is what a Similar has learned.
type besideMemory struct {
	Users map[string]userMemory `json:"users,omitempty"`
	Like  map[int][][3]int64    `json:"like,omitempty"`
}

type userMemory struct {
	Last [2]int64   `json:"last,omitzero"` // of LastTwo: seconds, the last first
	Jobs [][3]int64 `json:"jobs,omitempty"`
}

type promiseMemory struct {
	Made  int64 `json:"made"` // Unix time
	Start int64 `json:"start"`
}

const memorySchema = "grid.batch-memory/v1"

// Memory is what was learned, as a JSON document: run times of users' jobs,
// errors of forecasts, the forecasts whose outcome is still to come, and what became
// of jobs that others are said to wait for.
func (l *Live) Memory() ([]byte, error) {
	m, err := l.f.remember()
	if err != nil {
		return nil, err
	}
	m.Promises = map[string]promiseMemory{}
	for id, p := range l.first {
		m.Promises[id] = promiseMemory{p.made, p.start}
	}
	m.Fates = fatesOf(l)
	return json.Marshal(m)
}

// Recall takes in a Memory, in place of all that was learned so far. The belief
// must be of the kind that the memory is of. Promises of jobs that have started
// meanwhile teach, those of jobs that are not known any more are dropped. Who is said to wait
// for a job that has gone goes by what became of it, as in a Sync.
func (l *Live) Recall(document []byte) error {
	m, err := l.f.recall(document)
	if err != nil {
		return err
	}
	clear(l.first)
	for id, p := range m.Promises {
		if i, ok := l.index[id]; ok {
			l.first[id] = promise{p.Made, p.Start}
			if start := l.c.state.Jobs[i].Started; !start.IsZero() {
				l.first.kept(id, start, l.f.Errors)
			}
		}
	}
	meet(l, m.Fates)
	l.stale, l.valid, l.near.current = true, false, false // users may have other numbers
	return nil
}

// MarshalJSON implements json.Marshaler: what was learned, as Live.Memory
// without the promises.
func (f *Forecaster) MarshalJSON() ([]byte, error) {
	m, err := f.remember()
	if err != nil {
		return nil, err
	}
	return json.Marshal(m)
}

// UnmarshalJSON implements json.Unmarshaler. Policy stays as it is; the Belief
// must be of the kind that the document is of.
func (f *Forecaster) UnmarshalJSON(document []byte) error {
	_, err := f.recall(document)
	return err
}

func (f *Forecaster) remember() (memory, error) {
	m := memory{Schema: memorySchema, Users: map[string]userMemory{}, Errors: f.Errors}
	switch b := f.belief().(type) {
	case Estimate:
		m.Belief = "estimate"
	case Perfect:
		m.Belief = "perfect"
	case *LastTwo:
		m.Belief = "last-two"
		for name, n := range f.users.number {
			if last, ok := b.last[n]; ok {
				m.Users[name] = userMemory{Last: last}
			}
		}
	case *History:
		m.Belief, m.All = "history", b.all.list()
		for name, n := range f.users.number {
			if p := b.users[n]; p != nil {
				m.Users[name] = userMemory{Jobs: p.list()}
			}
		}
	case *Similar:
		kept := b.remember(&f.users)
		m.Belief, m.Like, m.Users = "similar", kept.Like, kept.Users
	default:
		return m, fmt.Errorf("belief %T cannot be kept", b)
	}
	if f.Beside != nil {
		m.Beside = f.Beside.remember(&f.users)
	}
	return m, nil
}

func (b *Similar) remember(users *names) *besideMemory {
	m := &besideMemory{Users: map[string]userMemory{}, Like: map[int][][3]int64{}}
	for k, p := range b.like {
		if p != nil {
			m.Like[k] = p.list()
		}
	}
	for name, n := range users.number {
		if p := b.users[n]; p != nil {
			m.Users[name] = userMemory{Jobs: p.list()}
		}
	}
	return m
}

func (m *besideMemory) similar(users *names) *Similar {
	b := NewSimilar()
	for k, list := range m.Like {
		if k >= 0 && k < len(b.like) {
			b.like[k] = ring(list)
		}
	}
	for name, u := range m.Users {
		b.users[users.of(name)] = ring(u.Jobs)
	}
	return b
}

func (f *Forecaster) recall(document []byte) (memory, error) {
	var m memory
	if err := json.Unmarshal(document, &m); err != nil {
		return m, fmt.Errorf("memory of forecasts: %w", err)
	}
	if m.Schema != memorySchema {
		return m, fmt.Errorf("memory of forecasts: schema %q, want %q", m.Schema, memorySchema)
	}
	belief, err := NewBelief(m.Belief)
	if err != nil {
		return m, fmt.Errorf("memory of forecasts: %w", err)
	}
	if have, want := fmt.Sprintf("%T", f.belief()), fmt.Sprintf("%T", belief); have != want {
		return m, fmt.Errorf("memory of forecasts: of belief %s, not of %s", m.Belief, have)
	}
	users := names{}
	for name, u := range m.Users {
		n := users.of(name)
		switch b := belief.(type) {
		case *LastTwo:
			b.last[n] = u.Last
		case *History:
			b.users[n] = ring(u.Jobs)
		}
	}
	if _, ok := belief.(*Similar); ok {
		belief = (&besideMemory{m.Users, m.Like}).similar(&users)
	}
	if m.Beside != nil {
		f.Beside = m.Beside.similar(&users)
	}
	if h, ok := belief.(*History); ok {
		h.all = *ring(m.All)
		h.average()
	}
	f.users, f.Belief = users, belief
	if m.Errors != nil {
		f.Errors = m.Errors
	}
	return m, nil
}

// list is the jobs remembered, the oldest first.
func (p *pastJobs) list() (list [][3]int64) {
	for i := range min(p.n, remembered) {
		j := p.jobs[(p.n-min(p.n, remembered)+i)%remembered]
		list = append(list, [3]int64{j.run, j.limit, int64(j.procs)})
	}
	return list
}

func ring(list [][3]int64) *pastJobs {
	p := &pastJobs{}
	for _, j := range list {
		p.add(pastJob{max(1, j[0]), max(1, j[1]), int32(min(max(1, j[2]), 1<<30))})
	}
	return p
}

// errorMemory is the document of Errors: of each kind the errors in seconds,
// the oldest first.
type errorMemory struct {
	Kinds [][]int64 `json:"kinds"`
}

// MarshalJSON implements json.Marshaler.
func (e *Errors) MarshalJSON() ([]byte, error) {
	var m errorMemory
	for i := range e.kinds {
		r := &e.kinds[i]
		n := min(r.n, len(r.errors))
		list := make([]int64, 0, n)
		for k := range n {
			list = append(list, r.errors[(r.n-n+k)%len(r.errors)])
		}
		m.Kinds = append(m.Kinds, list)
	}
	return json.Marshal(m)
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *Errors) UnmarshalJSON(document []byte) error {
	var m errorMemory
	if err := json.Unmarshal(document, &m); err != nil {
		return err
	}
	*e = Errors{}
	if len(m.Kinds) > len(e.kinds) {
		return fmt.Errorf("errors of %d kinds, want %d", len(m.Kinds), len(e.kinds))
	}
	for i, list := range m.Kinds {
		for _, off := range slices.Clone(list[max(0, len(list)-len(e.kinds[i].errors)):]) {
			r := &e.kinds[i]
			r.errors[r.n%len(r.errors)] = off
			r.n++
		}
	}
	return nil
}
