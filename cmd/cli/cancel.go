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
		Example: `  grid cancel 1m7y8
  grid cancel --state queued --since 1h`,
	}
	sel.registerAsking(cmd)
	return jobsVerb(d, cmd, &sel, func(ctx context.Context) error { return runCancel(ctx, d, sel) })
}

func runCancel(ctx context.Context, d *deps, sel selection) error {
	return withJobs(ctx, d, sel, func(s *session, rs []*jobs.Outcome) error {
		if err := s.jobs.Cancel(ctx, rs); err != nil {
			return err
		}
		return showJobs(d, "cancel", rs)
	})
}
