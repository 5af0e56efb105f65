package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"gridbroker/jobs"
)

func (a *app) statusCmd() *cobra.Command {
	sel := selection{asking: always}
	cmd := &cobra.Command{
		Use:   "status [ID...]",
		Short: "Ask the back-ends how jobs are",
		Long: `Status asks every back-end about its jobs in one request and shows them. Jobs
whose submission was cut short are looked up. A job that could not be asked
about keeps its last state, and the note says why.

` + selectionHelp + `
Without any, all jobs that have not ended.`,
		Example: `  grid status
  grid status 01k9 --json
  grid status --since 2h --state failed,lost`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: a.completeIDs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withJobs(cmd, planning{}, args, sel, true, func(ctx context.Context, s *session, rs []*jobs.Outcome) error {
				return a.showJobs("status", rs)
			})
		},
	}
	sel.register(cmd)
	return cmd
}

// showJobs prints jobs and makes their errors the exit status.
func (a *app) showJobs(verb string, rs []*jobs.Outcome) error {
	if a.json {
		if err := a.printJSON(verb, jobsJSON(rs)); err != nil {
			return err
		}
		return a.outcome(rs, jobErr)
	}
	if len(rs) == 0 {
		fmt.Fprintln(a.env.Err, "grid: no jobs")
		return nil
	}
	if err := a.jobTable(rs); err != nil {
		return err
	}
	return a.outcome(rs, jobErr)
}
