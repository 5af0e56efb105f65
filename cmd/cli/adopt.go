package cli

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gridbroker/broker"
	"gridbroker/glue"
	"gridbroker/infosys"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

type adoptOptions struct {
	planning
	places []string
	all    bool
	dryRun bool
}

// adoptDocument is what was found at endpoints.
type adoptDocument struct {
	DryRun  bool             `json:"dry_run"`
	Jobs    []recordDocument `json:"jobs"`    // recorded now; with dry_run: that would be
	Known   int              `json:"known"`   // the records had them
	Foreign int              `json:"foreign"` // left: not sent by grid
	Unread  int              `json:"unread"`  // left: their state could not be read
	Errors  []string         `json:"errors,omitempty"`
}

func adoptCmd(d *deps) *cobra.Command {
	var f adoptOptions
	cmd := &cobra.Command{
		Use:   "adopt URL|SITE...",
		Short: "Take jobs into the records that exist at a back-end, as after a lost disk",
		Long: `Adopt asks computing elements which jobs of yours they have, and records those
that are not recorded: by URL, or all whose name, id, site or host is SITE or
fits the pattern. Jobs that grid has sent get their old ids back, with all
attempts that are found; give all computing elements in one call, then. With
--all jobs sent by other clients are adopted, too, where the back-end shows them
(ARC does).

What was adopted is followed, fetched, cancelled and cleaned like any other job.
It is not retried by itself: nobody knows what else was tried; grid resubmit sends
it again where its description has been kept. Who comes after whom in a DAG, and
which jobs were a collection, only the lost records knew.

The exit code is 0 when all were asked, 5 when some were, 1 when none.`,
		Example: `  grid adopt --dry-run https://ce.example.org/arex
  grid adopt 'cern*' slurm: local:
  grid adopt --all --json https://ce.example.org/arex`,
		Args:              usageArgs(cobra.MinimumNArgs(1)),
		ValidArgsFunction: cobra.FixedCompletions(urlBeginnings(d.env.Backends), cobra.ShellCompDirectiveNoSpace|cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.places = args
			return runAdopt(cmd.Context(), d, f)
		},
	}
	f.discovery.register(cmd.Flags())
	cmd.Flags().BoolVarP(&f.dryRun, "dry-run", "n", false, "show what would be recorded, and record nothing")
	cmd.Flags().BoolVar(&f.all, "all", false, "also jobs that were not sent by grid")
	return cmd
}

func runAdopt(ctx context.Context, d *deps, f adoptOptions) error {
	s, err := openSession(d, f.planning, needs{records: mustRecords, learns: true})
	if err != nil {
		return err
	}
	defer s.close()
	places, err := placesOf(ctx, d, s, f)
	if err != nil {
		return err
	}
	got, err := jobs.Adopt(ctx, s.jobs, jobs.Adoption{Places: places, Foreign: f.all, DryRun: f.dryRun})
	if err != nil {
		return err
	}
	if err := printAdopted(d, f, got); err != nil {
		return err
	}
	switch n := len(got.Errs); {
	case n == 0:
		return nil
	case n < len(places):
		return &exitError{exitPartial, reported(got.Errs[0])}
	}
	return reported(got.Errs[0])
}

// placesOf finds the endpoints that URLs and names mean.
func placesOf(ctx context.Context, d *deps, s *session, f adoptOptions) ([]jobs.Place, error) {
	var urls, names []string
	for _, place := range f.places {
		if u, err := url.Parse(place); err == nil && u.Scheme != "" {
			urls = append(urls, place)
		} else {
			names = append(names, place)
		}
	}
	var all []jobs.Place
	for _, raw := range urls {
		where := f.discovery
		where.info, where.noCache = []string{raw}, true
		snap, err := look(ctx, d, s, where)
		if err != nil {
			return nil, err
		}
		found := submittable(s, snap, nil)
		if len(found) == 0 {
			found = direct(s, raw)
		}
		if len(found) == 0 {
			return nil, usageError(fmt.Errorf("%s: no jobs can be sent there", raw))
		}
		all = append(all, found...)
	}
	if len(names) > 0 {
		snap, err := look(ctx, d, s, f.discovery)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			found := submittable(s, snap, []string{name})
			if len(found) == 0 {
				return nil, &exitError{exitNoMatch, fmt.Errorf("no resource is named %s", name)}
			}
			all = append(all, found...)
		}
	}
	return distinct(all), nil
}

// direct is the endpoint that a URL itself is, where what it publishes names none.
func direct(s *session, raw string) []jobs.Place {
	back, ok := s.backends.ForURL(raw)
	if !ok || len(back.Interfaces) != 1 || back.ReadOnly {
		return nil
	}
	return []jobs.Place{{Endpoint: glue.Endpoint{URL: raw, Interface: back.Interfaces[0]}}}
}

// submittable are the endpoints that take jobs, of resources of the given names; nil: of all.
func submittable(s *session, snap infosys.Snapshot, names []string) []jobs.Place {
	var out []jobs.Place
	for _, r := range references(snap) {
		if names != nil && !slices.ContainsFunc(names, func(n string) bool { return broker.Named(n, r) }) {
			continue
		}
		for _, e := range r.Endpoints {
			if back, ok := s.backends.For(e.Interface); ok && s.backends.Takes(e.Interface) {
				if _, tells := back.(plugins.Inventory); tells {
					out = append(out, jobs.Place{Endpoint: e, Resource: r.ID, At: r.Name, Site: r.Site})
				}
			}
		}
	}
	return out
}

// distinct leaves one of each endpoint. Where several resources share it, nobody
// knows in which of them a job is.
func distinct(places []jobs.Place) []jobs.Place {
	at := map[string]int{}
	var out []jobs.Place
	for _, p := range places {
		key := p.Endpoint.Interface + " " + strings.TrimSuffix(p.Endpoint.URL, "/")
		i, was := at[key]
		switch {
		case !was:
			at[key] = len(out)
			out = append(out, p)
		case out[i].Resource != p.Resource:
			out[i].Resource, out[i].At = "", ""
		}
	}
	return out
}

func printAdopted(d *deps, f adoptOptions, got *jobs.Adopted) error {
	if d.json {
		doc := adoptDocument{DryRun: f.dryRun, Jobs: jobsJSON(got.Jobs).Jobs, Known: got.Known, Foreign: got.Foreign, Unread: got.Unread}
		for _, err := range got.Errs {
			doc.Errors = append(doc.Errors, err.Error())
		}
		return printJSON(d, "adopt", doc)
	}
	if len(got.Jobs) > 0 {
		if err := jobTable(d, got.Jobs, jobView{}); err != nil {
			return err
		}
	}
	for _, err := range got.Errs {
		sayErr(d, "%s", err)
	}
	did := "adopted"
	if f.dryRun {
		did = "would be adopted"
	}
	text := fmt.Sprintf("%s %s; %d known already", counted(len(got.Jobs), "job"), did, got.Known)
	if got.Foreign > 0 {
		text += fmt.Sprintf("; %d not sent by grid (--all)", got.Foreign)
	}
	if got.Unread > 0 {
		text += fmt.Sprintf("; %d whose state cannot be read", got.Unread)
	}
	sayErr(d, "%s", text)
	return nil
}
