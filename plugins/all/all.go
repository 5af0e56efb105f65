// Package all lists every back-end. To add one: write its directory, add a
// field to Options and a line to Open.
package all

import (
	"gridbroker/glue"
	"gridbroker/plugins"
	"gridbroker/plugins/local"
)

// Options hold what each back-end needs.
type Options struct {
	Local local.Options
}

// Backends are the opened back-ends: the registry that the broker submits
// through, and those that are sources of resources too.
type Backends struct {
	Registry *plugins.Registry
	Local    *local.Backend
}

// Open opens every back-end. No connection is made before the first request.
func Open(opts Options) (*Backends, error) {
	l, err := local.New(opts.Local)
	if err != nil {
		return nil, err
	}
	reg, err := plugins.NewRegistry(
		plugins.Backend{Interfaces: []string{glue.InterfaceLocal}, Submitter: l},
	)
	if err != nil {
		return nil, err
	}
	return &Backends{Registry: reg, Local: l}, nil
}
