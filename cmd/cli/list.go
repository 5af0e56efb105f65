package cli

import (
	"context"

	"github.com/spf13/cobra"

	"gridbroker/jobs"
)

type listOptions struct {
	sel  selection
	view jobView
}

func listCmd(d *deps) *cobra.Command {
	o := listOptions{sel: selection{reads: true}}
	cmd := &cobra.Command{
		Use:   "list [ID...]",
		Short: "List the recorded jobs without asking anybody",
		Long: `List shows jobs as they were when last asked about.

` + selectionHelp + `
Without any, all recorded jobs.`,
		Example: `  grid list
  grid list --since 3d --state done
  grid list --exit '!=0' --sort -ended --limit 20
  grid list --where 'cpu_time_seconds > 3600 && site == "CERN"' -o csv
  grid list --json | jq -r '.jobs[] | select(.exit_code != 0) | .id'`,
	}
	o.sel.register(cmd)
	o.view.register(cmd)
	return jobsVerb(d, cmd, &o.sel, func(ctx context.Context) error { return runList(ctx, d, o) })
}

func runList(ctx context.Context, d *deps, o listOptions) error {
	if err := jobFacets().check(o.view.view, "jobs"); err != nil {
		return err
	}
	o.view.of(&o.sel)
	o.sel.all = o.sel.all || len(o.sel.ids) == 0 && !o.sel.given()
	if o.view.limit > 0 && o.view.byID() && o.sel.stored() {
		o.sel.first, o.sel.backwards = o.view.limit, o.view.sort != "" && o.view.sort[0] == '-'
	}
	return withJobs(ctx, d, o.sel, func(s *session, rs []*jobs.Outcome) error {
		if o.sel.first > 0 {
			q, err := o.sel.query(d.env.Now())
			if err != nil {
				return usageError(err)
			}
			if o.view.total, err = s.jobs.Store.Count(ctx, q); err != nil {
				return err
			}
		}
		return viewJobs(d, "list", rs, o.view)
	})
}
