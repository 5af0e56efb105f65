package cli

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"gridbroker/infosys"
	"gridbroker/plugins/all"
)

// discovery holds the flags of every verb that asks what resources there are.
type discovery struct {
	info     []string
	deadline time.Duration
	maxAge   time.Duration
}

func (d *discovery) register(f *pflag.FlagSet) {
	f.StringArrayVar(&d.info, "info", nil, "`source` of resources, instead of the configured ones; may be repeated (ldap://..., https://..., file:..., archery:..., slurm:, local:)")
	f.DurationVar(&d.deadline, "deadline", 0, "`time` for asking all sources (default 8s)")
	f.DurationVar(&d.maxAge, "max-age", -1, "use cached answers not older than this `time` without asking (default 1m)")
}

// apply puts the configuration in the place of what no flag says.
func (d *discovery) apply(a *app, c config) {
	if len(d.info) == 0 {
		d.info = c.Sources
	}
	if bdii := a.env.Getenv("LCG_GFAL_INFOSYS"); len(d.info) == 0 && bdii != "" {
		for _, host := range strings.Split(bdii, ",") {
			d.info = append(d.info, "ldap://"+host+"/o=grid", "ldap://"+host+"/o=glue")
		}
	}
	if len(d.info) == 0 {
		d.info = []string{"local:"}
	}
	if d.deadline == 0 {
		d.deadline = time.Duration(c.Deadline)
	}
	if d.maxAge < 0 {
		d.maxAge = time.Duration(c.MaxAge)
	}
}

// discover asks the sources the flags or the configuration name.
func (a *app) discover(ctx context.Context, c config, b *all.Backends, d discovery) (infosys.Snapshot, error) {
	d.apply(a, c)
	var srcs []infosys.Source
	for _, raw := range d.info {
		s, err := a.source(b, raw)
		if err != nil {
			return infosys.Snapshot{}, usageError(fmt.Errorf("source %s: %w", raw, err))
		}
		srcs = append(srcs, s)
	}
	collector := infosys.Collector{Deadline: d.deadline, MaxAge: d.maxAge, Now: a.env.Now, Cache: infosys.NewCache(a.cacheDir())}
	return collector.Collect(ctx, srcs...), nil
}

// source opens one source by its URL. Nothing is asked yet.
func (a *app) source(b *all.Backends, raw string) (infosys.Source, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, err
	}
	switch u.Scheme {
	case "file":
		path := u.Opaque
		if path == "" {
			path = u.Path
		}
		return &infosys.File{URL: raw, Path: a.abs(path), Now: a.env.Now}, nil
	case "local":
		return b.Local.Source(u)
	case "slurm", "slurm+ssh":
		return b.Slurm.Source(raw)
	}
	return nil, fmt.Errorf("no such kind of source: %q", u.Scheme)
}

// reportSources says on standard error what went wrong with sources.
func (a *app) reportSources(s infosys.Snapshot) {
	for _, o := range s.Outcomes {
		if o.Err == nil {
			continue
		}
		stale := ""
		if o.Stale {
			stale = fmt.Sprintf(" (used its answer of %s ago)", a.ago(o.Fetched))
		}
		fmt.Fprintf(a.env.Err, "grid: source %s: %v%s\n", o.Source, o.Err, stale)
	}
}
