package cli

import (
	"github.com/spf13/cobra"
)

func listCmd(d *deps) *cobra.Command {
	var sel selection
	var view jobView
	cmd := &cobra.Command{
		Use:   "list [ID...]",
		Short: "List the recorded jobs without asking anybody",
		Long: `List shows jobs as they were when last asked about.

` + selectionHelp + `
Without any, all recorded jobs.`,
		Example: `  grid list
  grid list --since 3d --state done
  grid list --exit '!=0' --sort -ended --limit 20
  grid list --where 'cpu_time_seconds > 3600 && site == "CERN"' -o csv
  grid list --json | jq -r '.jobs[] | select(.exit_code != 0) | .id'`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeIDs(d),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := view.check(); err != nil {
				return err
			}
			sel.all = sel.all || len(args) == 0 && !sel.given()
			s, rs, err := openJobs(cmd, d, args, planning{}, sel, needs{})
			if err != nil {
				return err
			}
			defer s.close()
			return viewJobs(d, "list", rs, view)
		},
	}
	sel.register(cmd)
	view.register(cmd)
	return cmd
}
