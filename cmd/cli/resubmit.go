package cli

import (
	"github.com/spf13/cobra"

	"gridbroker/jobs"
)

func resubmitCmd(d *deps) *cobra.Command {
	var p planning
	sel := selection{asking: always}
	var again, wait, force bool
	cmd := &cobra.Command{
		Use:   "resubmit ID...",
		Short: "Send jobs anew that have ended or never arrived",
		Long: `Resubmit plans the jobs afresh and sends them, under the ids they have. They go
to resources where they were not tried yet, unless --same allows these, too.
They look for resources where they were told to when first submitted, unless
--info or --site says otherwise. A job that nothing takes now stays as it is, and
what its attempts left behind stays reachable: grid output --attempt.

Jobs that are done with exit code 0 are left alone without --force. The nodes of
a DAG go in their order: named by the id of the DAG, it goes on from the nodes
that failed, and grid watch sends those after them.

` + selectionHelp,
		Example: `  grid resubmit 01k9x
  grid resubmit --state failed,lost --since 1d --wait`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeIDs(d),
		RunE: func(cmd *cobra.Command, args []string) error {
			p.seeded = cmd.Flags().Changed("seed")
			s, rs, err := openJobs(cmd, d, args, p, sel, needs{services: true, scouts: scouting{on: true, follow: wait}})
			if err != nil {
				return err
			}
			defer s.close()
			if err := s.jobs.Resubmit(cmd.Context(), rs, jobs.Anew{Discover: rediscover(d, s, p.discovery), Anywhere: again, Done: force}); err != nil {
				return err
			}
			if wait {
				if err := followJobs(cmd.Context(), d, s, p.discovery, rs, true); err != nil {
					return err
				}
			}
			return showJobs(d, "resubmit", rs)
		},
	}
	p.register(cmd.Flags())
	sel.registerAsking(cmd)
	cmd.Flags().BoolVar(&again, "same", false, "also to resources where the job was tried before")
	cmd.Flags().BoolVar(&force, "force", false, "also jobs that are done, with exit code 0")
	cmd.Flags().BoolVarP(&wait, "wait", "w", false, "follow the jobs to their end")
	return cmd
}

func refreshCmd(d *deps) *cobra.Command {
	sel := selection{asking: ifStates}
	cmd := &cobra.Command{
		Use:   "refresh ID...",
		Short: "Renew what was delegated for jobs",
		Long: `Refresh brings the credentials up to date that back-ends keep for jobs, so that
long jobs outlive the proxy they were submitted with.

` + selectionHelp,
		Example:           `  grid refresh --state queued,running`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeIDs(d),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, rs, err := openJobs(cmd, d, args, planning{}, sel, needs{})
			if err != nil {
				return err
			}
			defer s.close()
			if err := s.jobs.Renew(cmd.Context(), rs); err != nil {
				return err
			}
			return showJobs(d, "refresh", rs)
		},
	}
	sel.register(cmd)
	return cmd
}
