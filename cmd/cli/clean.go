package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"gridbroker/jobs"
)

func cleanCmd(d *deps) *cobra.Command {
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
		ValidArgsFunction: completeIDs(d),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, rs, err := openJobs(cmd, d, args, planning{}, sel, needs{})
			if err != nil {
				return err
			}
			defer s.close()
			if err := s.jobs.Clean(cmd.Context(), rs, forget); err != nil {
				return err
			}
			return cleaned(d, rs)
		},
	}
	sel.registerAsking(cmd)
	cmd.Flags().BoolVar(&forget, "forget", false, "forget jobs even where they still run or cannot be removed")
	return cmd
}

func cleaned(d *deps, rs []*jobs.Outcome) error {
	if d.json {
		if err := printJSON(d, "clean", jobsJSON(rs)); err != nil {
			return err
		}
		return outcomeOf(d, rs, jobErr)
	}
	for _, r := range rs {
		if r.Err == nil {
			fmt.Fprintln(d.env.Out, r.ID)
		}
	}
	report(d, rs)
	return outcomeOf(d, rs, jobErr)
}
