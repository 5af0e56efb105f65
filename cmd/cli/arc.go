package cli

import (
	"fmt"

	"gridbroker/credential"
	"gridbroker/plugins/arcrest"
)

// arcOptions is what submitting to ARC needs of the environment.
func (a *app) arcOptions(c config) arcrest.Options {
	o := arcrest.Options{
		Credentials: a.credentialSet,
		StateDir:    a.stateDir(c),
		Now:         a.env.Now,
	}
	if a.verbose > 1 {
		o.Logf = func(format string, args ...any) { fmt.Fprintf(a.env.Err, format+"\n", args...) }
	}
	return o
}

// credentialSet looks for the user's credentials where the field keeps them.
func (a *app) credentialSet() (*credential.Set, error) {
	return a.credentials(credential.Options{})
}
