package plugins

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gridbroker/jdl"
)

// Registry finds the back-end for an endpoint.
type Registry struct {
	all      []Opened
	by       map[string]Submitter
	byScheme map[string]Opened
	readOnly map[string]bool // interfaces
	moves    map[string]func(scheme string, out bool) bool
}

// NewRegistry lists back-ends. Two for one interface or scheme is a
// programming error and is returned as one.
func NewRegistry(bs ...Opened) (*Registry, error) {
	r := &Registry{all: bs, by: map[string]Submitter{}, byScheme: map[string]Opened{}, readOnly: map[string]bool{},
		moves: map[string]func(string, bool) bool{}}
	for _, b := range bs {
		for _, name := range b.Interfaces {
			if _, dup := r.by[name]; dup {
				return nil, fmt.Errorf("two back-ends for interface %s", name)
			}
			r.by[name], r.readOnly[name], r.moves[name] = b.Submitter, b.ReadOnly, b.Moves
		}
		for _, scheme := range b.Schemes {
			if _, dup := r.byScheme[scheme]; dup {
				return nil, fmt.Errorf("two back-ends for scheme %s", scheme)
			}
			r.byScheme[scheme] = b
		}
	}
	return r, nil
}

// All lists the back-ends in the order they were given.
func (r *Registry) All() []Opened { return slices.Clone(r.all) }

// For returns the back-end that speaks the interface.
func (r *Registry) For(iface string) (Submitter, bool) {
	s, ok := r.by[iface]
	return s, ok
}

// Takes tells whether jobs can be sent by an interface.
func (r *Registry) Takes(iface string) bool {
	_, ok := r.by[iface]
	return ok && !r.readOnly[iface]
}

// ReadOnly tells whether a back-end shows what has an interface, and sends no
// jobs there.
func (r *Registry) ReadOnly(iface string) bool { return r.readOnly[iface] }

// Moves tells whether what has an interface may fetch input files from URLs of a scheme, or (out) send output files there.
// Logical names are looked up by none.
func (r *Registry) Moves(iface, scheme string, out bool) bool {
	if jdl.IsLogical(scheme) {
		return false
	}
	moves := r.moves[iface]
	return moves == nil || moves(scheme, out)
}

// ForURL returns the back-end whose scheme a URL has.
func (r *Registry) ForURL(rawURL string) (Opened, bool) {
	scheme, _, _ := strings.Cut(rawURL, ":")
	b, ok := r.byScheme[strings.ToLower(scheme)]
	return b, ok
}

// Interfaces lists what can be submitted to, sorted.
func (r *Registry) Interfaces() []string {
	names := make([]string, 0, len(r.by))
	for name := range r.by {
		if r.Takes(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Close ends the connections of all back-ends. Jobs are not touched.
func (r *Registry) Close() error {
	var errs []error
	for _, b := range r.all {
		if c, ok := b.Submitter.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}
