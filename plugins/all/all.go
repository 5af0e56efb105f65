// Package all lists every back-end. To add one: write its directory, add a
// field to Options and a line to Open.
package all

import (
	"gridbroker/glue"
	"gridbroker/plugins"
	"gridbroker/plugins/arcrest"
	"gridbroker/plugins/local"
	"gridbroker/plugins/slurm"
)

// Options hold what each back-end needs.
type Options struct {
	ARC   arcrest.Options
	Local local.Options
	Slurm slurm.Options
}

// Backends are the opened back-ends: the registry that the broker submits
// through, and those that are sources of resources too.
type Backends struct {
	Registry *plugins.Registry
	ARC      *arcrest.Backend
	Local    *local.Backend
	Slurm    *slurm.Backend
}

// Open opens every back-end. No connection is made before the first request.
func Open(opts Options) (*Backends, error) {
	l, err := local.New(opts.Local)
	if err != nil {
		return nil, err
	}
	s := slurm.New(opts.Slurm)
	a := arcrest.New(opts.ARC)
	reg, err := plugins.NewRegistry(
		plugins.Backend{Interfaces: []string{glue.InterfaceARCREST}, Submitter: a},
		plugins.Backend{Interfaces: []string{glue.InterfaceLocal}, Submitter: l},
		plugins.Backend{Interfaces: []string{glue.InterfaceSlurm}, Submitter: s},
	)
	if err != nil {
		return nil, err
	}
	return &Backends{Registry: reg, ARC: a, Local: l, Slurm: s}, nil
}

// Close ends all connections. Jobs are not touched.
func (b *Backends) Close() error {
	b.ARC.Close()
	return b.Slurm.Close()
}
