package cli

import (
	"context"

	"github.com/spf13/cobra"

	"gridbroker/jobs"
)

func restartCmd(d *deps) *cobra.Command {
	sel := selection{asking: always}
	cmd := &cobra.Command{
		Use:   "restart ID...",
		Short: "Let jobs that failed go on where they are, from the step that failed",
		Long: `Restart asks a computing element to go on with jobs that have failed there: with
the transfer of an input or output file that could not be had or stored, without
running again what has run. ARC computing elements can, five times a job at most;
elsewhere, and where the program itself failed, grid resubmit --same runs the job
again. How the job had failed stays in its record: grid show.

` + selectionHelp,
		Example: `  grid restart 1m7y8
  grid restart --state failed --at ce1.example.org && grid watch --at ce1.example.org`,
	}
	sel.registerAsking(cmd)
	return jobsVerb(d, cmd, &sel, func(ctx context.Context) error { return runRestart(ctx, d, sel) })
}

func runRestart(ctx context.Context, d *deps, sel selection) error {
	return withJobs(ctx, d, sel, func(s *session, rs []*jobs.Outcome) error {
		if err := jobs.Restart(ctx, s.jobs, rs); err != nil {
			return err
		}
		return showJobs(d, "restart", rs)
	})
}
