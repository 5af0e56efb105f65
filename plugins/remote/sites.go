package remote

import (
	"context"
	"slices"
	"sync"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
)

// AnySite is a site with what its batch system adds: a *Site embedded in it.
type AnySite interface {
	comparable
	LRMS
	Common() *Site
	Describe(ctx context.Context, ids []string) (map[string]*jdl.Job, error)
	// Resources reads what the site publishes now.
	Resources(ctx context.Context) ([]glue.Resource, error)
	// Status fills in the jobs of the site among out, those at the indices.
	Status(ctx context.Context, out []plugins.Status, at []int)
	Close() error
}

// Common is the part that sites of all batch systems share.
func (s *Site) Common() *Site { return s }

// Sites are the sites of one back-end, each made once, by its URL, and kept
// with its connection. It is safe for concurrent use.
type Sites[S AnySite] struct {
	open func(raw string) (S, error)
	ids  string // the bytes that an id of the batch system may hold

	mu  sync.Mutex
	all map[string]S
}

// NewSites keeps what open makes of a URL; ids are the bytes that an id of the
// batch system may hold.
func NewSites[S AnySite](ids string, open func(raw string) (S, error)) *Sites[S] {
	return &Sites[S]{open: open, ids: ids, all: map[string]S{}}
}

// At is the site of a URL.
func (b *Sites[S]) At(raw string) (S, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s, ok := b.all[raw]; ok {
		return s, nil
	}
	s, err := b.open(raw)
	if err == nil {
		b.all[raw] = s
	}
	return s, err
}

// Close ends all connections. Jobs are not touched.
func (b *Sites[S]) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.all {
		s.Close()
	}
	clear(b.all)
	return nil
}

// Split finds the site of a handle and cuts it, see SplitHandle.
func (b *Sites[S]) Split(h plugins.Handle) (s S, lrmsID, id string, ok bool, err error) {
	lrmsID, id, ok = SplitHandle(h, b.ids)
	s, err = b.At(h.Endpoint)
	return s, lrmsID, id, ok, err
}

// Job is Split where a handle that the back-end never gave out is an error, of
// what was to be done.
func (b *Sites[S]) Job(op string, h plugins.Handle) (s S, lrmsID, id string, err error) {
	s, lrmsID, id, ok, err := b.Split(h)
	if err == nil && !ok {
		err = NoJob(op, h)
	}
	return s, lrmsID, id, err
}

// Where finds a job's directory.
func (b *Sites[S]) Where(h plugins.Handle) (s *Site, id string, err error) {
	at, _, id, err := b.Job("fetch", h)
	if err != nil {
		return nil, "", err
	}
	return at.Common(), id, nil
}

// Describe implements plugins.Inventory.
func (b *Sites[S]) Describe(ctx context.Context, hs []plugins.Handle) ([]*jdl.Job, error) {
	return describeAll(ctx, hs, b.Split)
}

// Inventory implements plugins.Inventory, see Site.Inventory.
func (b *Sites[S]) Inventory(ctx context.Context, endpoint glue.Endpoint) ([]plugins.Present, error) {
	s, err := b.At(endpoint.URL)
	if err != nil {
		return nil, err
	}
	return s.Common().Inventory(ctx, s)
}

// Find implements plugins.Finder, see Site.Find.
func (b *Sites[S]) Find(ctx context.Context, endpoint glue.Endpoint, ids []string) (map[string]plugins.Handle, error) {
	s, err := b.At(endpoint.URL)
	if err != nil {
		return nil, err
	}
	return s.Common().Find(ctx, s, ids)
}

// Status implements plugins.Submitter: a sweep per site. A handle that the
// back-end never gave out is a lost job's.
func (b *Sites[S]) Status(ctx context.Context, hs []plugins.Handle) []plugins.Status {
	out := make([]plugins.Status, len(hs))
	at := map[S][]int{}
	for i, h := range hs {
		out[i] = plugins.Status{Handle: h, State: plugins.Unknown}
		s, _, _, ok, err := b.Split(h)
		if err == nil && !ok {
			out[i].State, err = plugins.Lost, NoJob("status", h)
		}
		if out[i].Err = err; err == nil {
			at[s] = append(at[s], i)
		}
	}
	for s, is := range at {
		s.Status(ctx, out, is)
	}
	return out
}

// Direct is the site of a resource that the site's own source described, as
// one of these interfaces; the zero S where there is none.
func (b *Sites[S]) Direct(r *glue.Resource, interfaces ...string) (none S) {
	for _, e := range r.Endpoints {
		if slices.Contains(interfaces, e.Interface) && r.Schema == "self" && r.Source == e.URL {
			if s, err := b.At(e.URL); err == nil {
				return s
			}
		}
	}
	return none
}
