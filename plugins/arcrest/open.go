package arcrest

import "gridbroker/plugins"

// Open opens the back-end with what the program's configuration says.
func Open(c plugins.Config) (plugins.Submitter, error) {
	return New(Options{Credentials: c.Credentials, StateDir: c.StateDir, DelegationLife: c.DelegationLife, Now: c.Now}), nil
}
