package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

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
			if err := setSlurm(&p.Slurm, key, value); err != nil {
				return p, err
			}
		}
	}
	return p, p.Check()
}

// setSlurm sets a parameter by its name in SchedulerParameters.
func setSlurm(s *batch.Slurm, key, value string) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > 1<<30 {
		return fmt.Errorf("--slurm %s=%s: want KEY=VALUE with a number, 0 or more", key, value)
	}
	switch key {
	case "bf_interval":
		s.Interval = time.Duration(n) * time.Second
	case "bf_resolution":
		s.Resolution = time.Duration(n) * time.Second
	case "bf_window":
		s.Window = time.Duration(n) * time.Minute
	case "bf_max_job_test":
		s.MaxJobTest = n
	case "bf_max_job_user":
		s.MaxJobUser = n
	case "bf_max_job_part":
		s.MaxJobPart = n
	default:
		return fmt.Errorf("--slurm: parameter %q is not known", key)
	}
	return nil
}
