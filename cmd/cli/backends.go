package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/credential"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

// backends opens every back-end with what the configuration says of it.
func openBackends(d *deps, c config) (*plugins.Registry, error) {
	b, err := plugins.Open(d.env.Backends, pluginConfig(d, c))
	if e, ok := errors.AsType[*settingError](err); ok {
		return nil, usageError(e)
	}
	if err != nil {
		path, _ := configPath(d)
		return nil, usageError(fmt.Errorf("%s: %w", path, err))
	}
	return b, nil
}

// pluginConfig is what back-ends take from the environment.
func pluginConfig(d *deps, c config) plugins.Config {
	pc := plugins.Config{
		Environ: d.env.Environ, Home: d.env.Getenv("HOME"), StateDir: stateDir(d, c), Exe: d.env.Exe, Now: d.env.Now,
		Credentials: func() (*credential.Set, error) { return credentialSet(d) }, Settings: c.settings,
	}
	pc.DelegationLife = func() time.Duration { return delegationLife(c, pc.StateDir) }
	return pc
}

// renewedDelegation is for how long credentials are delegated where a follower
// renews them every hour.
const renewedDelegation = 24 * time.Hour

// delegationLife is for how long credentials are delegated: as configured, or
// shortly where somebody renews them; 0: as the back-end deems right.
func delegationLife(c config, state string) time.Duration {
	if c.Auth.Delegation.Duration > 0 {
		return c.Auth.Delegation.Duration
	}
	if jobs.LeaseHeld(state, followLease) {
		return renewedDelegation
	}
	return 0
}

// credentialSet looks for the user's credentials where the field keeps them.
func credentialSet(d *deps) (*credential.Set, error) {
	return credentials(d, credential.Options{})
}

// warm makes the back-ends ready for connections that are likely to follow.
func warm(d *deps) {
	for _, b := range d.env.Backends {
		if b.Warm != nil {
			go b.Warm()
		}
	}
}

// urlForms are the URLs of all back-ends, for help texts.
func urlForms(d *deps) string { return strings.Join(formsOf(d.env.Backends), ", ") }

// queueForms are those of the back-ends whose queues can be read.
func queueForms(d *deps) string { return strings.Join(formsOf(withQueues(d)), ", ") }

func withQueues(d *deps) []plugins.Backend {
	return slices.DeleteFunc(slices.Clone(d.env.Backends), func(b plugins.Backend) bool { return !b.Queues })
}

func formsOf(backends []plugins.Backend) []string {
	var forms []string
	for _, b := range backends {
		forms = append(forms, b.URLs...)
	}
	return forms
}

// helperCmds are the helper processes of the back-ends; they are started by
// the program itself.
func helperCmds(d *deps) []*cobra.Command {
	var cmds []*cobra.Command
	for _, b := range d.env.Backends {
		for _, verb := range slices.Sorted(maps.Keys(b.Helpers)) {
			cmds = append(cmds, &cobra.Command{
				Use: verb + " DIR", Hidden: true, Args: usageArgs(cobra.ExactArgs(1)),
				RunE: func(cmd *cobra.Command, args []string) error {
					return b.Helpers[verb](cmd.Context(), plugins.Config{Exe: d.env.Exe, Now: d.env.Now}, args[0])
				},
			})
		}
	}
	return cmds
}
