package cli

import (
	"context"

	"github.com/spf13/cobra"

	"gridbroker/jobs"
)

func cancelCmd(d *deps) *cobra.Command {
	sel := selection{asking: ifStates}
	cmd := &cobra.Command{
		Use:   "cancel ID...",
		Short: "End jobs",
		Long: `Cancel ends jobs, one request per back-end. Jobs that have ended already are
left as they are.

` + selectionHelp,
		Example: `  grid cancel 01k9x
  grid cancel --state queued --since 1h`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeIDs(d),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withJobs(d, cmd, planning{}, args, sel, false, func(ctx context.Context, s *session, rs []*jobs.Outcome) error {
				if err := s.jobs.Cancel(ctx, rs); err != nil {
					return err
				}
				return showJobs(d, "cancel", rs)
			})
		},
	}
	sel.registerAsking(cmd)
	return cmd
}
