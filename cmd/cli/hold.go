package cli

import (
	"context"

	"github.com/spf13/cobra"

	"gridbroker/jobs"
)

func holdCmd(d *deps) *cobra.Command {
	return holdVerb(d, &cobra.Command{
		Use:   "hold ID...",
		Short: "Keep jobs that wait from being started, until they are released",
		Long: `Hold keeps jobs in the queues that they wait in: nothing starts them before
grid release. Slurm, HTCondor, this machine and the central scheduler can; ARC
computing elements cannot. A job that has begun runs on, and is an error.

` + selectionHelp,
		Example: `  grid hold 1m7y8
  grid hold --state queued --at slurm1`,
	}, jobs.Hold)
}

func releaseCmd(d *deps) *cobra.Command {
	return holdVerb(d, &cobra.Command{
		Use:   "release ID...",
		Short: "Let jobs go on that are held",
		Long: `Release lets jobs be started that were held, by grid hold or by the batch system's
own command. What an administrator holds stays held, and is an error; a job that
is held since it failed is told as failed: grid resubmit.

` + selectionHelp,
		Example: `  grid release 1m7y8
  grid release --state held && grid watch`,
	}, jobs.Release)
}

// holdVerb completes a verb that holds or releases jobs.
func holdVerb(d *deps, cmd *cobra.Command, do func(context.Context, *jobs.Controller, []*jobs.Outcome) error) *cobra.Command {
	sel := selection{asking: ifStates}
	sel.registerAsking(cmd)
	return jobsVerb(d, cmd, &sel, func(ctx context.Context) error {
		return withJobs(ctx, d, sel, func(s *session, rs []*jobs.Outcome) error {
			if err := do(ctx, s.jobs, rs); err != nil {
				return err
			}
			return showJobs(d, cmd.Name(), rs)
		})
	})
}
