package cli

import (
	"context"

	"github.com/spf13/cobra"

	"gridbroker/jobs"
)

type cleanOptions struct {
	sel    selection
	forget bool // also what cannot be removed
}

func cleanCmd(d *deps) *cobra.Command {
	o := cleanOptions{sel: selection{asking: always}}
	cmd := &cobra.Command{
		Use:   "clean ID...",
		Short: "Remove ended jobs and their files from the back-ends, and forget them",
		Long: `Clean removes jobs that have ended, with the files they left at their
back-ends, and their records here. Output already brought back stays.

` + selectionHelp,
		Example: `  grid clean --state done
  grid clean --forget 1m7y8`,
	}
	o.sel.registerAsking(cmd)
	cmd.Flags().BoolVar(&o.forget, "forget", false, "forget jobs even where they still run or cannot be removed")
	return jobsVerb(d, cmd, &o.sel, func(ctx context.Context) error { return runClean(ctx, d, o) })
}

func runClean(ctx context.Context, d *deps, o cleanOptions) error {
	return withJobs(ctx, d, o.sel, func(s *session, rs []*jobs.Outcome) error {
		if err := s.jobs.Clean(ctx, rs, o.forget); err != nil {
			return err
		}
		return cleaned(d, rs)
	})
}

func cleaned(d *deps, rs []*jobs.Outcome) error {
	if d.json {
		if err := printJSON(d, "clean", jobsJSON(rs)); err != nil {
			return err
		}
		return outcomeOf(d, rs, jobErr)
	}
	sayNoneToPeople(d, rs)
	for _, r := range rs {
		if r.Err == nil {
			sayOut(d, "%s", r.ID)
		}
	}
	report(d, rs)
	return outcomeOf(d, rs, jobErr)
}
