package plugins

import (
	"fmt"
	"slices"
)

// Backend is a Submitter with the interface names (glue.Interface...) it serves.
type Backend struct {
	Interfaces []string
	Submitter  Submitter
}

// Registry finds the back-end for an endpoint.
type Registry struct{ by map[string]Submitter }

// NewRegistry lists back-ends. Two for one interface is a programming error
// and is returned as one.
func NewRegistry(bs ...Backend) (*Registry, error) {
	r := &Registry{by: map[string]Submitter{}}
	for _, b := range bs {
		for _, name := range b.Interfaces {
			if _, dup := r.by[name]; dup {
				return nil, fmt.Errorf("two back-ends for interface %s", name)
			}
			r.by[name] = b.Submitter
		}
	}
	return r, nil
}

// For returns the back-end that speaks the interface.
func (r *Registry) For(iface string) (Submitter, bool) {
	s, ok := r.by[iface]
	return s, ok
}

// Interfaces lists what can be submitted to, sorted.
func (r *Registry) Interfaces() []string {
	names := make([]string, 0, len(r.by))
	for name := range r.by {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
