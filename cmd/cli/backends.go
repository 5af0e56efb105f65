package cli

import (
	"fmt"

	"gridbroker/plugins/all"
	"gridbroker/plugins/slurm"
)

// backends opens every back-end with what the configuration says of it.
func (a *app) backends(c config) (*all.Backends, error) {
	b, err := all.Open(all.Options{
		ARC:   a.arcOptions(c),
		Local: a.localOptions(c),
		Slurm: slurm.Options{Environ: a.env.Environ, Home: a.env.Getenv("HOME"), Now: a.env.Now},
	})
	if err != nil {
		path, _ := a.configPath()
		return nil, usageError(fmt.Errorf("%s: %w", path, err))
	}
	return b, nil
}
