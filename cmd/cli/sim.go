package cli

import "github.com/spf13/cobra"

func simCmd(d *deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Simulate schedulers and grids over recorded or generated workloads",
		Args:  usageArgs(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(simQueueCmd(d), simWorkloadCmd(d), simCacheCmd(d), simTreeCmd(d), simGridCmd(d), simForecastCmd(d))
	return cmd
}
