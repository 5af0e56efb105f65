package cli

import "github.com/spf13/cobra"

func (a *app) simCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Simulate schedulers and grids over recorded or generated workloads",
		Args:  usageArgs(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.simQueueCmd(), a.simWorkloadCmd(), a.simCacheCmd(), a.simTreeCmd(), a.simGridCmd())
	return cmd
}
