package cli

import (
	"github.com/spf13/cobra"
)

// agentCmd holds what runs at a site, beside its batch system.
func agentCmd(d *deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "agent",
		Short:   "Services of a site: queue lengths, slots for a central scheduler, environments, WIKI, a scheduler",
		Long:    "Agent holds the services that a site runs beside its batch system, so that brokers know its queues as they are now.",
		Example: "  grid agent queues --lrms slurm: --listen 127.0.0.1:6110",
	}
	cmd.AddCommand(agentQueuesCmd(d), agentRunCmd(d), agentDoctorCmd(d), agentScheduleCmd(d), agentWikiCmd(d), agentVRESCmd(d))
	return cmd
}
