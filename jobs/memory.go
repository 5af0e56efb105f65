package jobs

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"gridbroker/broker"
	"gridbroker/plugins"
)

// Memory is a Store that is gone with its process: for simulations. Processes
// that are simulated share one.
type Memory struct {
	mu     sync.Mutex
	now    func() time.Time
	rows   map[string]*memoryRow
	order  []string // ids, sorted
	log    map[string][]Entry
	leases map[string]bool
}

type memoryRow struct {
	row
	state   plugins.State
	parent  string
	created time.Time
	loose   time.Time
}

var _ Store = (*Memory)(nil)

// NewMemory returns an empty store. now dates the log.
func NewMemory(now func() time.Time) *Memory {
	return &Memory{now: now, rows: map[string]*memoryRow{}, log: map[string][]Entry{}, leases: map[string]bool{}}
}

func (m *Memory) put(r *Record, body []byte, sum string) {
	m.rows[r.ID] = &memoryRow{row{body, sum}, r.State, r.Parent, r.Created, r.loose()}
}

func (m *Memory) note(id string, c Change) {
	if c.Action != "" {
		m.log[id] = append(m.log[id], Entry{Job: id, At: m.now(), Action: c.Action, Text: c.Text})
	}
}

// Add implements Store.
func (m *Memory) Add(_ context.Context, rs []*Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range rs {
		if m.rows[r.ID] != nil {
			return fmt.Errorf("job %s is recorded already", r.ID)
		}
	}
	for _, r := range rs {
		body, sum, err := encode(r)
		if err != nil {
			return err
		}
		m.put(r, body, sum)
		at, _ := slices.BinarySearch(m.order, r.ID)
		m.order = slices.Insert(m.order, at, r.ID)
		m.note(r.ID, Change{"intend", r.Name})
	}
	return nil
}

// Update implements Store.
func (m *Memory) Update(_ context.Context, rs []*Record, f func(*Record) (Change, error)) ([]error, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	errs := make([]error, len(rs))
	for i, r := range rs {
		var err error
		if errs[i], err = m.one(r, f); err != nil {
			return nil, err
		}
	}
	return errs, nil
}

func (m *Memory) one(r *Record, f func(*Record) (Change, error)) (of, err error) {
	was := m.rows[r.ID]
	if was == nil {
		return &GoneError{ID: r.ID}, nil
	}
	fresh := Record{}
	if err := decode(was.body, was.sum, &fresh); err != nil {
		return &DamagedError{IDs: []string{r.ID}, Err: err}, nil
	}
	change, of := f(&fresh)
	if of != nil {
		return of, decode(was.body, was.sum, reset(r))
	}
	body, sum, err := encode(&fresh)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(body, was.body) {
		m.put(&fresh, body, sum)
	}
	m.note(r.ID, change)
	*r = fresh
	return nil, nil
}

// Note implements Store.
func (m *Memory) Note(_ context.Context, rs []*Record, action string, text func(*Record) string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range rs {
		m.note(r.ID, Change{action, text(r)})
	}
	return nil
}

// Delete implements Store.
func (m *Memory) Delete(_ context.Context, rs []*Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range rs {
		if at, ok := slices.BinarySearch(m.order, r.ID); ok {
			m.order = slices.Delete(m.order, at, at+1)
		}
		delete(m.rows, r.ID)
		delete(m.log, r.ID)
	}
	return nil
}

// Log implements Store.
func (m *Memory) Log(_ context.Context, id string) ([]Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.SortedStableFunc(slices.Values(m.log[id]), func(a, b Entry) int { return cmp.Compare(a.At.UnixMilli(), b.At.UnixMilli()) }), nil
}

// Select implements Store.
func (m *Memory) Select(_ context.Context, q Query) ([]*Record, error) {
	return m.where(func(_ string, r *memoryRow) bool {
		return (len(q.States) == 0 || slices.Contains(q.States, r.state)) && (!q.Live || !r.state.Final()) &&
			!r.created.Before(q.Since) && (q.Parent == "" || q.Parent == r.parent) && (q.Loose.IsZero() || r.loose.After(q.Loose))
	})
}

// where reads the records that fit, in the order of their ids.
func (m *Memory) where(fits func(id string, r *memoryRow) bool) ([]*Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*Record
	var bad damage
	for _, id := range m.order {
		row := m.rows[id]
		if !fits(id, row) {
			continue
		}
		r := &Record{}
		if err := decode(row.body, row.sum, r); err != nil {
			bad.add(id, err)
			continue
		}
		out = append(out, r)
	}
	return out, bad.err()
}

// Find implements Store.
func (m *Memory) Find(_ context.Context, ids []string) ([]*Record, error) {
	return findAll(ids, func(w way, part string) ([]*Record, error) {
		return m.where(func(id string, r *memoryRow) bool {
			switch w {
			case whole:
				return id == part
			case parentOf:
				return r.parent == part
			case beginning:
				return strings.HasPrefix(id, part)
			case end:
				return strings.HasSuffix(id, part)
			}
			return strings.HasSuffix(r.parent, part)
		})
	})
}

// UnderWay implements Store.
func (m *Memory) UnderWay(ctx context.Context, since time.Time) (map[string][]broker.Sent, error) {
	rs, err := m.Select(ctx, Query{Since: since,
		States: []plugins.State{plugins.Submitting, plugins.Accepted, plugins.Preparing, plugins.Queued, plugins.Running}})
	all := map[string][]broker.Sent{}
	for _, r := range rs {
		all[r.Resource] = append(all[r.Resource], broker.Sent{At: r.Sent, Slots: max(1, r.Slots)})
	}
	return all, err
}

// Lease implements Store.
func (m *Memory) Lease(name string) (Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leases[name] = true
	return &memoryLease{m, name}, nil
}

// Alive implements Store.
func (m *Memory) Alive(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.leases[name]
}

// Reserve implements Store.
func (m *Memory) Reserve(int) (Reserve, error) { return memoryReserve{}, nil }

// Close implements Store.
func (m *Memory) Close() error { return nil }

type memoryReserve struct{}

func (memoryReserve) Free() {}

type memoryLease struct {
	of   *Memory
	name string
}

func (l *memoryLease) Name() string { return l.name }

func (l *memoryLease) End() {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	delete(l.of.leases, l.name)
}
