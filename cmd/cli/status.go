package cli

import (
	"context"

	"github.com/spf13/cobra"

	"gridbroker/jobs"
)

type statusOptions struct {
	sel  selection
	view jobView
}

func statusCmd(d *deps) *cobra.Command {
	o := statusOptions{sel: selection{asking: always, live: true, reads: true}}
	cmd := &cobra.Command{
		Use:   "status [ID...]",
		Short: "Ask the back-ends how jobs are",
		Long: `Status asks every back-end about its jobs in one request and shows them. Jobs
whose submission was cut short are looked up. A job that could not be asked
about keeps its last state, and the note says why.

` + selectionHelp + `
Without any, all jobs that have not ended.`,
		Example: `  grid status
  grid status 1m7y --json
  grid status --since 2h --state failed,lost
  grid status --group 1m7y --columns id,name,host,exit --sort -ran`,
	}
	o.sel.register(cmd)
	o.view.register(cmd)
	return jobsVerb(d, cmd, &o.sel, func(ctx context.Context) error { return runStatus(ctx, d, o) })
}

func runStatus(ctx context.Context, d *deps, o statusOptions) error {
	if err := jobFacets().check(o.view.view, "jobs"); err != nil {
		return err
	}
	o.view.of(&o.sel)
	o.view.open = len(o.sel.ids) == 0 && !o.sel.given()
	return withJobs(ctx, d, o.sel, func(_ *session, rs []*jobs.Outcome) error { return viewJobs(d, "status", rs, o.view) })
}

// showJobs prints jobs and makes their errors the exit status.
func showJobs(d *deps, verb string, rs []*jobs.Outcome) error {
	return viewJobs(d, verb, rs, jobView{})
}

// viewJobs prints jobs as a view says.
func viewJobs(d *deps, verb string, rs []*jobs.Outcome, v jobView) error {
	all := rs
	rs, err := jobFacets().ordered(d, v.view, rs)
	if err != nil {
		return err
	}
	if d.json || v.output == "json" {
		if err := printJSON(d, verb, jobsJSON(rs)); err != nil {
			return err
		}
		return outcomeOf(d, all, jobErr)
	}
	if len(rs) == 0 && v.output != "csv" {
		if v.open {
			sayErr(d, "no jobs that have not ended; grid list shows all")
		} else {
			sayErr(d, "no jobs")
		}
		return nil
	}
	if err := jobTable(d, rs, v); err != nil {
		return err
	}
	if total := max(v.total, len(all)); len(rs) < total {
		sayErr(d, "%d of %d jobs", len(rs), total)
	}
	return outcomeOf(d, all, jobErr)
}
