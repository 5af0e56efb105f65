package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"gridbroker/jobs"
)

func (a *app) cancelCmd() *cobra.Command {
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
		ValidArgsFunction: a.completeIDs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withJobs(cmd, planning{}, args, sel, false, func(ctx context.Context, s *session, rs []*jobs.Outcome) error {
				if err := s.jobs.Cancel(ctx, rs); err != nil {
					return err
				}
				return a.showJobs("cancel", rs)
			})
		},
	}
	sel.registerAsking(cmd)
	return cmd
}

func (a *app) cleanCmd() *cobra.Command {
	sel := selection{asking: always}
	var forget bool
	cmd := &cobra.Command{
		Use:   "clean ID...",
		Short: "Remove ended jobs and their files from the back-ends, and forget them",
		Long: `Clean removes jobs that have ended, with the files they left at their
back-ends, and their records here. Output already brought back stays.

` + selectionHelp,
		Example: `  grid clean --state done
  grid clean --forget 01k9x`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: a.completeIDs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withJobs(cmd, planning{}, args, sel, false, func(ctx context.Context, s *session, rs []*jobs.Outcome) error {
				if err := s.jobs.Clean(ctx, rs, forget); err != nil {
					return err
				}
				return a.cleaned(rs)
			})
		},
	}
	sel.registerAsking(cmd)
	cmd.Flags().BoolVar(&forget, "forget", false, "forget jobs even where they still run or cannot be removed")
	return cmd
}

func (a *app) cleaned(rs []*jobs.Outcome) error {
	if a.json {
		if err := a.printJSON("clean", jobsJSON(rs)); err != nil {
			return err
		}
		return a.outcome(rs, jobErr)
	}
	for _, r := range rs {
		if r.Err == nil {
			fmt.Fprintln(a.env.Out, r.ID)
		}
	}
	a.report(rs)
	return a.outcome(rs, jobErr)
}
