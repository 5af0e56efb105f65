package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gridbroker/broker"
	"gridbroker/foreign"
	"gridbroker/glue"
	"gridbroker/jdl/classad"
	"gridbroker/rank"
)

// matchOptions are those of grid match alone.
type matchOptions struct {
	planning
	explain bool
	terms   bool
	relax   bool
	view    view
	limited bool // the user gave the limit
	// readOnly tells whether what has an interface is only shown.
	readOnly func(iface string) bool
}

func matchCmd(d *deps) *cobra.Command {
	var f matchOptions
	cmd := &cobra.Command{
		Use:   "match JOB.jdl...",
		Short: "Show which resources would take a job, in which order and why",
		Long: `Match asks the sources, filters the resources, ranks those left and shows
the result. Nothing is submitted. With --explain it shows also what every
filter and every clause of Requirements rejects, what nearly matches, and the
one reason against the resources that do not, those first that the least keeps
away. With --relax it shows which changes of one or two numbers, clauses or
tags of the job would open how many more queues, and when it would be done at
the best of them.

The columns are chosen by --columns and -o wide; -o csv has the resources of all
jobs in one list, with times in seconds.

Resources that are only shown, since what tells of them takes no jobs (wiki://),
are ranked with the others and marked; grid submit leaves them out.`,
		Example: `  grid match job.jdl
  grid match --explain job.jdl
  grid match --relax job.jdl
  grid match --terms --policy forecast job.jdl
  grid match --columns resource,expected,wait --sort wait job.jdl
  grid match -o csv job.jdl
  grid match --info file:snapshot.json --json job.jdl | jq '.jobs[0].choices[0]'`,
		Args: usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.seeded, f.limited = cmd.Flags().Changed("seed"), cmd.Flags().Changed("limit")
			if err := f.checkView(d); err != nil {
				return err
			}
			return runMatch(cmd.Context(), d, args, f)
		},
	}
	f.register(cmd.Flags())
	cmd.Flags().BoolVar(&f.explain, "explain", false, "show what rejects the others, too")
	cmd.Flags().BoolVar(&f.relax, "relax", false, "show what small changes of the job would open")
	cmd.Flags().BoolVar(&f.terms, "terms", false, "show every term of every score")
	cmd.Flags().BoolVar(&f.anywhere, "anywhere", false, "also resources this program cannot submit to")
	f.view.choosing(cmd, choiceFacets(nil, true).names())
	cmd.Flags().IntVarP(&f.view.limit, "limit", "n", 10, "show the `N` best resources, and as many of those rejected; 0: all")
	return cmd
}

func runMatch(ctx context.Context, d *deps, args []string, f matchOptions) error {
	files, err := readJobs(d, args)
	if err != nil {
		return err
	}
	all := jobsOf(files)
	f.planning = f.regarding(all)
	f.shown = true
	s, err := openSession(d, f.planning, needs{records: mayRecords, services: true})
	if err != nil {
		return err
	}
	defer s.close()
	f.readOnly = s.backends.ReadOnly
	memberOf(d, s.jobs.Rules, f.vo, all)
	snap, err := look(ctx, d, s, f.discovery)
	if err != nil {
		return err
	}
	p, err := planAll(ctx, s, files, references(snap))
	if err != nil {
		return err
	}
	var relax func(*broker.JobPlan) []broker.Relaxation
	if f.relax {
		relax = s.jobs.Relax
	}
	switch {
	case d.json || f.view.output == "json":
		doc := matchDocument(p, snap, f.explain, relax)
		doc.mark(f.readOnly)
		err = printJSON(d, "match", doc)
	case f.view.output == "csv":
		err = choicesCSV(d, p, f)
	default:
		err = printMatch(d, p, relax, f)
	}
	if err != nil {
		return err
	}
	return unmatched(p)
}

// unmatched is the error of the jobs no resource would take, already shown.
func unmatched(p *broker.Plan) error {
	for _, j := range p.Jobs {
		if j.Err != nil {
			return &exitError{exitNoMatch, reported(j.Err)}
		}
	}
	return nil
}

func printMatch(d *deps, p *broker.Plan, relax func(*broker.JobPlan) []broker.Relaxation, f matchOptions) error {
	for i, equal := range equals(p.Jobs) {
		if i > 0 {
			sayOut(d, "")
		}
		if err := printOne(d, p, equal, relax, f); err != nil {
			return err
		}
	}
	sayAssumed(d, p)
	reportServices(d, p)
	return nil
}

// equals puts equal jobs, which have the same match, together, by the first of them.
func equals(js []broker.JobPlan) [][]*broker.JobPlan {
	var out [][]*broker.JobPlan
	at := map[*broker.Match]int{}
	for i := range js {
		j := &js[i]
		k, known := at[j.Match]
		if !known {
			k, at[j.Match] = len(out), len(out)
			out = append(out, nil)
		}
		out[k] = append(out[k], j)
	}
	return out
}

// namesOf names equal jobs for people: the first, and how many more there are.
func namesOf(equal []*broker.JobPlan) string {
	name := foreign.Text(jobLabel(equal[0].Job))
	switch n := len(equal) - 1; n {
	case 0:
		return name
	case 1:
		return name + " and 1 more job"
	default:
		return fmt.Sprintf("%s and %d more jobs", name, n)
	}
}

// rejectedShown is how many lines of rejected resources are shown where the
// user names no limit.
const rejectedShown = 20

// rejected is how many lines of rejected resources are shown; 0: all.
func (f matchOptions) rejected() int {
	if f.limited {
		return f.view.limit
	}
	return rejectedShown
}

func printOne(d *deps, p *broker.Plan, equal []*broker.JobPlan, relax func(*broker.JobPlan) []broker.Relaxation, f matchOptions) error {
	j := equal[0]
	sayOut(d, "%s: %d of %d resources match (policy %s, seed %d)",
		styled(d, bold, namesOf(equal)), len(j.Choices), len(j.Match.Resources), p.Policy, p.Seed)
	if len(j.Choices) > 0 {
		if err := choicesTable(d, j, f); err != nil {
			return err
		}
	}
	if p.Policy == rank.Paper {
		for _, line := range rank.Marks(j.Choices) {
			sayOut(d, "%s", line)
		}
	}
	if f.terms {
		if err := termsTable(d, p.Policy, j, f.view.limit); err != nil {
			return err
		}
	}
	if relax != nil {
		relaxations(d, relax(j))
	}
	if f.explain {
		return explanation(d, j.Explain(), f.rejected())
	}
	if e, ok := errors.AsType[*broker.NoMatchError](j.Err); ok {
		return explanation(d, e.Explanation(), f.rejected())
	}
	for _, dropped := range j.Dropped {
		sayOut(d, "not ranked: %s: %s", dropped.Resource.ID, dropped.Why)
	}
	for _, c := range j.Choices {
		if c.Unranked != "" {
			sayOut(d, "ranked last: %s: Rank is %s", c.Resource.ID, c.Unranked)
		}
	}
	return nil
}

// sayUnranked warns, once for each Rank, where it gives no number at any of the best resources: then the score decides,
// which may not be what the user meant.
func sayUnranked(d *deps, p *broker.Plan) {
	said := map[string]bool{}
	for i := range p.Jobs {
		j := &p.Jobs[i]
		if j.Job.Rank == nil || len(j.Choices) == 0 || j.Choices[0].Unranked == "" {
			continue
		}
		if text := classad.Unparse(j.Job.Rank); !said[text] {
			said[text] = true
			sayErr(d, "warning: %s: Rank is %s at every resource that matches; the score decides",
				j.Job.Name, j.Choices[0].Unranked)
		}
	}
}

// mark says of a place that it is only shown.
func (f matchOptions) mark(e glue.Endpoint) string {
	if f.readOnly(e.Interface) {
		return " [shown only]"
	}
	return ""
}

// label names a resource for people; a VO's view of a queue says whose.
func label(r *glue.Resource) string { return viewed(r.Name, r.ViewOf) }

// viewed is the name of a queue with the VO whose view of it is meant; "": the whole.
func viewed(name, vo string) string {
	if vo == "" {
		return name
	}
	return name + " [" + vo + "]"
}

// terms is the table of every term behind the scores.
func termsTable(d *deps, policy string, j *broker.JobPlan, limit int) error {
	var rows [][]string
	for i, r := range j.Choices {
		if limit > 0 && i == limit {
			break
		}
		for _, t := range r.Terms {
			known := ""
			if !t.OK {
				known = "nobody said"
			}
			if len(t.Quantiles) > 0 {
				known = oddsText(t.Quantiles)
			}
			rows = append(rows, []string{label(r.Resource), t.Name, t.Source, fmt.Sprintf("%.4g %s", t.Raw, t.Unit), fmt.Sprintf("%.0f", t.Seconds),
				fmt.Sprintf("%.0f", t.Uncertainty), fmt.Sprintf("%.0f%%", 100*t.Weight), span(t.Age), known})
		}
	}
	sayOut(d, "")
	if len(rows) == 0 {
		sayOut(d, "policy %s looks at nothing", policy)
		return nil
	}
	if policy == rank.Hybrid {
		sayOut(d, "expected = (wait + stage-in + run + overhead) / success; wait = its words (forecast, queue, counters, response, prior) by weight")
	}
	return table(d, columns("RESOURCE", "TERM", "SOURCE", "RAW", ">SECONDS", ">UNCERTAINTY", ">WEIGHT", ">AGE", "NOTE"), rows)
}

// oddsText writes the quantiles of a wait nearest to 10, 50 and 90 %, each once.
func oddsText(list []rank.Quantile) string {
	var parts []string
	for _, chance := range []float64{0.1, 0.5, 0.9} {
		q := nearestQuantile(list, chance)
		if text := fmt.Sprintf("%.0f %% within %s", 100*q.Chance, span(q.Wait)); !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, ", ")
}

// nearestQuantile is the one of the list, which is not empty, nearest to a chance.
func nearestQuantile(list []rank.Quantile, chance float64) rank.Quantile {
	near := list[0]
	for _, q := range list {
		if math.Abs(q.Chance-chance) < math.Abs(near.Chance-chance) {
			near = q
		}
	}
	return near
}

// reportServices says on standard error which services did not help.
func reportServices(d *deps, p *broker.Plan) {
	for _, o := range p.Services {
		if o.Error != "" {
			sayErr(d, "%s service %s %s", o.Kind, lead(o.Name), passage(strings.TrimSpace(o.Error)))
		}
	}
}
