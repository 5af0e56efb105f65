package jobs

import (
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
	rows   map[string]*Record
	order  []string // ids, sorted
	log    map[string][]Entry
	leases map[string]bool
}

var _ Store = (*Memory)(nil)

// NewMemory returns an empty store. now dates the log.
func NewMemory(now func() time.Time) *Memory {
	return &Memory{now: now, rows: map[string]*Record{}, log: map[string][]Entry{}, leases: map[string]bool{}}
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
		m.rows[r.ID] = r.clone()
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
		errs[i] = m.one(r, f)
	}
	return errs, nil
}

func (m *Memory) one(r *Record, f func(*Record) (Change, error)) error {
	was := m.rows[r.ID]
	if was == nil {
		return &GoneError{ID: r.ID}
	}
	fresh := was.clone()
	change, err := f(fresh)
	if err != nil {
		*r = *was.clone()
		return err
	}
	m.rows[r.ID] = fresh
	m.note(r.ID, change)
	*r = *fresh.clone()
	return nil
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
	rs, err := m.where(q.fits)
	if q.Backwards {
		slices.Reverse(rs)
	}
	if q.Limit > 0 {
		rs = rs[:min(q.Limit, len(rs))]
	}
	return rs, err
}

// Count implements Store.
func (m *Memory) Count(_ context.Context, q Query) (int, error) {
	rs, err := m.where(q.fits)
	return len(rs), err
}

// fits reports whether a record is one that the query asks for.
func (q Query) fits(r *Record) bool {
	return (len(q.States) == 0 || slices.Contains(q.States, r.State)) && (!q.Live || !r.Final()) &&
		!r.Created.Before(q.Since) && r.ID >= q.leastID() && (q.Parent == "" || q.Parent == r.Parent) && (q.Loose.IsZero() || r.loose().After(q.Loose))
}

// where reads the records that fit, in the order of their ids.
func (m *Memory) where(fits func(*Record) bool) ([]*Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*Record
	for _, id := range m.order {
		if r := m.rows[id]; fits(r) {
			out = append(out, r.clone())
		}
	}
	return out, nil
}

// Find implements Store.
func (m *Memory) Find(_ context.Context, ids []string) ([]*Record, error) {
	return findAll(ids, func(w way, part string) ([]*Record, error) {
		return m.where(func(r *Record) bool {
			switch w {
			case whole:
				return r.ID == part
			case parentOf:
				return r.Parent == part
			case beginning:
				return strings.HasPrefix(r.ID, part)
			case end:
				return strings.HasSuffix(r.ID, part)
			}
			return strings.HasSuffix(r.Parent, part)
		})
	})
}

// UnderWay implements Store.
func (m *Memory) UnderWay(ctx context.Context, since time.Time) (map[string][]broker.Sent, error) {
	rs, err := m.Select(ctx, Query{Since: since,
		States: []plugins.State{plugins.Submitting, plugins.Accepted, plugins.Preparing, plugins.Queued, plugins.Running}})
	all := map[string][]broker.Sent{}
	for _, r := range rs {
		if r.Resource == "" {
			continue
		}
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
