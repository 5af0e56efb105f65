package cli

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/jobs"
)

type resubmitOptions struct {
	planning planning
	sel      selection
	same     bool // where it was tried before, too
	force    bool // also what is done
	wait     bool
	timeout  time.Duration
}

func resubmitCmd(d *deps) *cobra.Command {
	o := resubmitOptions{sel: selection{asking: always}}
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
		Example: `  grid resubmit 1m7y8
  grid resubmit --state failed,lost --since 1d --wait`,
	}
	o.planning.register(cmd.Flags())
	o.sel.registerAsking(cmd)
	cmd.Flags().BoolVar(&o.same, "same", false, "also to resources where the job was tried before")
	cmd.Flags().BoolVar(&o.force, "force", false, "also jobs that are done, with exit code 0")
	cmd.Flags().BoolVarP(&o.wait, "wait", "w", false, "follow the jobs to their end")
	timeoutVar(cmd.Flags(), &o.timeout)
	return jobsVerb(d, cmd, &o.sel, func(ctx context.Context) error {
		if err := needsWait(o.wait, o.timeout); err != nil {
			return err
		}
		o.planning.seeded = cmd.Flags().Changed("seed")
		return runResubmit(ctx, d, o)
	})
}

func runResubmit(ctx context.Context, d *deps, o resubmitOptions) error {
	s, rs, err := openJobs(ctx, d, o.planning, o.sel, needs{services: true, scouts: scouting{on: true, follow: o.wait}})
	if err != nil {
		return err
	}
	defer s.close()
	anew := jobs.Anew{Discover: rediscover(d, s, o.planning.discovery), Anywhere: o.same, Done: o.force}
	if err := s.jobs.Resubmit(ctx, rs, anew); err != nil {
		return err
	}
	if !o.same {
		tellSame(d, rs)
	}
	if o.wait {
		if err := followJobs(ctx, d, s, waitOptions{o.planning.discovery, o.timeout, true}, rs); err != nil {
			if d.json {
				return cmp.Or(showJobs(d, "resubmit", rs), err)
			}
			return err
		}
	}
	return showResubmitted(d, rs, o.wait)
}

// showResubmitted prints jobs; where they were waited for, how they ended is the
// exit status.
func showResubmitted(d *deps, rs []*jobs.Outcome, waited bool) error {
	if err := showJobs(d, "resubmit", rs); err != nil || !waited {
		return err
	}
	return outcomeOf(d, rs, endErr)
}
