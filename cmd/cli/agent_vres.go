package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/batch"
	"gridbroker/environment"
	"gridbroker/plugins"
)

type agentVRESOptions struct {
	lrms, node, store string
	nodes, always     []string
	ahead, interval   time.Duration
	once              bool
}

func agentVRESCmd(d *deps) *cobra.Command {
	f := agentVRESOptions{ahead: time.Hour, interval: 30 * time.Second}
	cmd := &cobra.Command{
		Use:   "vres",
		Short: "Deploy the environments that queued and booked jobs will ask for, and report what is cached",
		Long: `Vres looks at the batch system's queue, deploys on this node the environments that
waiting jobs ask for, those that start first first, and keeps the node's cache
within its quota. What is defined here it publishes as features of --nodes, what
is cached as VEE-X.cached, which takes the rights of the batch system's operator;
without --nodes it publishes no features. With --store it reports what is cached
to the site's tags. With --once it ends with exit code 5 where something is not
deployed that is wanted.

Run it on every node that has a cache of its own, as the cache's owner.`,
		Example: `  grid agent vres --lrms slurm: --nodes $(hostname -s)
  grid agent vres --once --json --always VEE-Debian11`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runAgentVRES(cmd.Context(), d, f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.lrms, "lrms", "slurm:", "`URL` of the batch system: "+queueForms(d))
	fl.StringVar(&f.node, "node", environment.DefaultNode, "the node's settings, `FILE`")
	fl.StringVar(&f.store, "store", "", "report what is cached to the tags of this `DIR`")
	fl.StringSliceVar(&f.nodes, "nodes", nil, "`NAMES` of the nodes that use this cache, as the batch system knows them")
	fl.StringSliceVar(&f.always, "always", nil, "keep these `TAGS` deployed, whoever asks")
	lengthVar(fl, &f.ahead, "ahead", f.ahead, "deploy for jobs that may start within this `time`")
	lengthVar(fl, &f.interval, "interval", f.interval, "look again after this `time`")
	fl.BoolVar(&f.once, "once", false, "look once")
	return cmd
}

// vresDocument is what one look of the agent came to.
type vresDocument struct {
	Wanted       []vresWanted      `json:"wanted"` // first those that are needed first
	Environments []vresEnvironment `json:"environments"`
}

// failed tells a script that something is not deployed; what, was printed.
func (v vresDocument) failed() error {
	if slices.ContainsFunc(v.Environments, func(e vresEnvironment) bool { return e.Error != "" }) {
		return &exitError{exitPartial, errReported}
	}
	return nil
}

type vresWanted struct {
	Tag   string    `json:"tag"`
	Jobs  int       `json:"jobs"`
	Start time.Time `json:"start"` // not before
}

type vresEnvironment struct {
	Tag    string        `json:"tag"`
	Cached bool          `json:"cached"`
	Fresh  bool          `json:"fresh"`
	Took   time.Duration `json:"took"`
	Error  string        `json:"error,omitempty"`
}

func runAgentVRES(ctx context.Context, d *deps, f agentVRESOptions) error {
	reader, end, err := lrmsReader(d, f.lrms)
	if err != nil {
		return usageError(err)
	}
	defer end()
	marker, can := reader.(plugins.EnvironmentMarker)
	if len(f.nodes) > 0 && !can {
		return usageError(fmt.Errorf("--nodes: nodes of %s have no features to publish by", f.lrms))
	}
	if f.interval < time.Second {
		return usageError(fmt.Errorf("--interval %v: say 1s or more", f.interval))
	}
	if _, err := readNode(abs(d, f.node)); err != nil { // later it may be away, as it is written anew
		return err
	}
	for {
		doc, err := lookVRES(ctx, d, f, reader, marker)
		if f.once {
			if err = errors.Join(err, printVRES(d, doc, true), ctx.Err()); err != nil {
				return err
			}
			return doc.failed()
		}
		if err == nil || len(doc.Environments) > 0 {
			err = errors.Join(err, printVRES(d, doc, false))
		}
		if err != nil && ctx.Err() == nil {
			say(d, d.env.Err, "grid agent vres: %v\n", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(f.interval):
		}
	}
}

// lookVRES is one look: what is wanted, deployed, and reported.
func lookVRES(ctx context.Context, d *deps, f agentVRESOptions, reader plugins.QueueReader, marker plugins.EnvironmentMarker) (vresDocument, error) {
	doc := vresDocument{Wanted: []vresWanted{}, Environments: []vresEnvironment{}}
	node, err := readNode(abs(d, f.node))
	if err != nil {
		return doc, err
	}
	catalog, err := node.Catalog()
	if err != nil {
		return doc, err
	}
	if err := catalog.Broken(); err != nil {
		sayErr(d, "left out: %s", err)
	}
	state, unread := reader.Queue(ctx)
	if unread == nil { // otherwise what is always wanted is wanted all the same
		doc.Wanted = append(doc.Wanted, wantedEnvironments(state, catalog, d.env.Now().Add(f.ahead))...)
	}
	order := slices.Clone(f.always)
	for _, w := range doc.Wanted {
		if !slices.Contains(order, w.Tag) {
			order = append(order, w.Tag)
		}
	}
	for _, p := range node.Prepare(ctx, order) {
		e := vresEnvironment{Tag: p.Tag, Cached: p.Cached, Fresh: p.Fresh, Took: p.Took}
		if p.Err != nil {
			e.Error = p.Err.Error()
		}
		doc.Environments = append(doc.Environments, e)
	}
	return doc, errors.Join(unread, reportVRES(ctx, d, f, node, catalog, marker))
}

// wantedEnvironments are those that jobs will ask for which wait and may start before a time, the first first.
func wantedEnvironments(state batch.State, catalog *environment.Catalog, before time.Time) []vresWanted {
	opens := map[string]time.Time{}
	for _, r := range state.Reservations {
		opens[r.Name] = r.Start
	}
	byTag := map[string]*vresWanted{}
	best := map[string]float64{} // the highest priority of a tag's jobs
	for i := range state.Jobs {
		j := &state.Jobs[i]
		start := state.Now
		for _, t := range []time.Time{j.Begin, opens[j.Reservation]} {
			if t.After(start) {
				start = t
			}
		}
		if !j.Started.IsZero() || j.Held || start.After(before) {
			continue
		}
		for _, feature := range j.Features {
			def, ok := catalog.Find(feature)
			if !ok {
				continue
			}
			w := byTag[def.Tag]
			if w == nil {
				w = &vresWanted{Tag: def.Tag, Start: start}
				byTag[def.Tag] = w
			}
			if w.Jobs++; start.Before(w.Start) {
				w.Start = start
			}
			best[def.Tag] = max(best[def.Tag], j.Priority)
		}
	}
	var list []vresWanted
	for _, w := range byTag {
		list = append(list, *w)
	}
	slices.SortFunc(list, func(a, b vresWanted) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(best[b.Tag], best[a.Tag]), cmp.Compare(a.Tag, b.Tag))
	})
	return list
}

// reportVRES tells the batch system and the site's tags what is cached now, whoever deployed it.
func reportVRES(ctx context.Context, d *deps, f agentVRESOptions, node *environment.Node, catalog *environment.Catalog, marker plugins.EnvironmentMarker) error {
	var tags, cached []string
	for _, def := range catalog.All() {
		if node.Allow(def) != nil {
			continue
		}
		tags = append(tags, def.Tag)
		if node.Store().Cached(def.Digest) {
			cached = append(cached, def.Tag)
		}
	}
	var errs []error
	if len(f.nodes) > 0 {
		errs = append(errs, marker.MarkEnvironments(ctx, f.nodes, tags, cached))
	}
	if f.store != "" {
		caller, err := tagCaller(d)
		host, hostErr := os.Hostname()
		if err = errors.Join(err, hostErr); err == nil {
			err = tagStore(d, &tagOptions{store: f.store}).ReportCached(ctx, caller, host, cached)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func printVRES(d *deps, doc vresDocument, whole bool) error {
	if d.json {
		return printJSON(d, "agent.vres", doc)
	}
	for _, e := range doc.Environments {
		switch {
		case e.Error != "":
			sayOut(d, "%s is not deployed: %s", e.Tag, passage(e.Error))
		case e.Fresh:
			sayOut(d, "%s was deployed in %.1f s", e.Tag, e.Took.Seconds())
		case whole:
			sayOut(d, "%s is cached", e.Tag)
		}
	}
	return nil
}
