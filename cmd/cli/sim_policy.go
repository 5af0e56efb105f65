package cli

import (
	"fmt"
	"slices"
	"strings"

	"gridbroker/batch"
)

// applies finds flags that have nothing to act on.
func (f queueOptions) applies() error {
	needs := func(flag string, ok bool, what string) error {
		if f.given != nil && f.given(flag) && !ok {
			return fmt.Errorf("--%s applies only with %s", flag, what)
		}
		return nil
	}
	for _, c := range []struct {
		flag string
		ok   bool
		what string
	}{
		{"maui", slices.Contains(f.policies, "maui"), "--policy maui"}, {"slurm", slices.Contains(f.policies, "slurm"), "--policy slurm"},
		{"plot-format", f.plots != "", "--plots"}, {"plot-size", f.plots != "", "--plots"},
		{"memory", f.nodes > 0, "--nodes"}, {"queue", f.nodes > 0, "--nodes"}, {"belief", f.nodes == 0, "a machine without --nodes"},
	} {
		if err := needs(c.flag, c.ok, c.what); err != nil {
			return err
		}
	}
	return nil
}

// policy builds a policy from its name and the parameters given for it.
func (f queueOptions) policy(name string) (batch.Policy, error) {
	p := batch.Policy{Name: name}
	if name == "maui" {
		for _, param := range f.maui {
			key, value, ok := strings.Cut(param, "=")
			if !ok {
				return p, fmt.Errorf("--maui %q: want KEY=VALUE", param)
			}
			if err := p.Maui.Set(key, value); err != nil {
				return p, err
			}
		}
	}
	if name == "slurm" {
		for _, param := range f.slurm {
			key, value, _ := strings.Cut(param, "=")
			if err := p.Slurm.Set(key, value); err != nil {
				return p, fmt.Errorf("--slurm: %w", err)
			}
		}
	}
	return p, p.Check()
}
