package cli

import "github.com/spf13/cobra"

func simCmd(d *deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Simulate schedulers and grids over recorded or generated workloads",
	}
	cmd.AddCommand(simQueueCmd(d), simWorkloadCmd(d), simCacheCmd(d), simTreeCmd(d), simGridCmd(d), simForecastCmd(d))
	return cmd
}
