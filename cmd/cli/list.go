package cli

import (
	"context"

	"github.com/spf13/cobra"

	"gridbroker/jobs"
)

func (a *app) listCmd() *cobra.Command {
	var sel selection
	cmd := &cobra.Command{
		Use:   "list [ID...]",
		Short: "List the recorded jobs without asking anybody",
		Long: `List shows jobs as they were when last asked about.

` + selectionHelp + `
Without any, all recorded jobs.`,
		Example: `  grid list
  grid list --since 3d --state done
  grid list --json | jq -r '.jobs[] | select(.exit_code != 0) | .id'`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: a.completeIDs,
		RunE: func(cmd *cobra.Command, args []string) error {
			sel.all = sel.all || len(args) == 0 && !sel.given()
			return a.withJobs(cmd, planning{}, args, sel, false, func(_ context.Context, _ *session, rs []*jobs.Outcome) error {
				return a.showJobs("list", rs)
			})
		},
	}
	sel.register(cmd)
	return cmd
}
