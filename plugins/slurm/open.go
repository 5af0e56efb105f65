package slurm

import "gridbroker/plugins"

// Open opens the back-end with what the program's configuration says.
func Open(c plugins.Config) (plugins.Submitter, error) {
	return New(Options{Environ: c.Environ, Home: c.Home, Now: c.Now}), nil
}
