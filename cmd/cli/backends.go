package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gridbroker/credential"
	"gridbroker/plugins"
)

// backends opens every back-end with what the configuration says of it.
func (a *app) backends(c config) (*plugins.Registry, error) {
	b, err := plugins.Open(a.env.Backends, a.pluginConfig(c))
	if e, ok := errors.AsType[*settingError](err); ok {
		return nil, usageError(e)
	}
	if err != nil {
		path, _ := a.configPath()
		return nil, usageError(fmt.Errorf("%s: %w", path, err))
	}
	return b, nil
}

// pluginConfig is what back-ends take from the environment.
func (a *app) pluginConfig(c config) plugins.Config {
	pc := plugins.Config{
		Environ: a.env.Environ, Home: a.env.Getenv("HOME"), StateDir: a.stateDir(c), Exe: a.env.Exe, Now: a.env.Now,
		Credentials: a.credentialSet, Settings: c.settings,
	}
	if a.verbose > 1 {
		pc.Logf = func(format string, args ...any) { fmt.Fprintf(a.env.Err, format+"\n", args...) }
	}
	return pc
}

// credentialSet looks for the user's credentials where the field keeps them.
func (a *app) credentialSet() (*credential.Set, error) {
	return a.credentials(credential.Options{})
}

// warm makes the back-ends ready for connections that are likely to follow.
func (a *app) warm() {
	for _, b := range a.env.Backends {
		if b.Warm != nil {
			go b.Warm()
		}
	}
}

// urlForms are the URLs of all back-ends, for help texts.
func (a *app) urlForms() string {
	var forms []string
	for _, b := range a.env.Backends {
		forms = append(forms, b.URLs...)
	}
	return strings.Join(forms, ", ")
}

// helperCmds are the helper processes of the back-ends; they are started by
// the program itself.
func (a *app) helperCmds() []*cobra.Command {
	var cmds []*cobra.Command
	for _, b := range a.env.Backends {
		for _, verb := range slices.Sorted(maps.Keys(b.Helpers)) {
			cmds = append(cmds, &cobra.Command{
				Use: verb + " DIR", Hidden: true, Args: usageArgs(cobra.ExactArgs(1)),
				RunE: func(cmd *cobra.Command, args []string) error {
					return b.Helpers[verb](cmd.Context(), plugins.Config{Exe: a.env.Exe, Now: a.env.Now}, args[0])
				},
			})
		}
	}
	return cmds
}
