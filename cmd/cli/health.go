package cli

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/plugins/history"
)

func (a *app) healthCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "health",
		Short: "What is known of how resources behave; lift and speak bans",
		Long: `Lists every resource jobs were sent to, and every service that was asked: how
many jobs ended there, how many of them well, actual over predicted wait, and
whether it is banned. A ban comes after failures (a host that does not answer, a
queue that refuses three times, three jobs in a row that fail at once) and grows
while they go on; when it ends one job goes there on trial. All runs of the
program share this memory.`,
		Example: `  grid health
  grid health --json | jq '.resources[] | select(.state != "ok")'
  grid health clear https://ce.example.org/arex#short
  grid health pin ce.example.org/long down`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.health(cmd) },
	}
	cmd.AddCommand(a.healthClearCmd(), a.healthPinCmd(), a.healthUnpinCmd())
	return cmd
}

// withHistory opens the registry of tasks for a verb.
func (a *app) withHistory(do func(h *history.Registry) error) error {
	c, err := a.loadConfig()
	if err != nil {
		return err
	}
	h, err := history.Open(a.stateDir(c), a.env.Now)
	if err != nil {
		return err
	}
	defer h.Close()
	return do(h)
}

func (a *app) health(cmd *cobra.Command) error {
	return a.withHistory(func(h *history.Registry) error {
		list, err := h.Health(cmd.Context())
		if err != nil {
			return err
		}
		if a.json {
			if list == nil {
				list = []history.Health{}
			}
			return a.printJSON("health", struct {
				Resources []history.Health `json:"resources"`
			}{list})
		}
		return a.table(columns("RESOURCE", "STATE", ">JOBS", ">WELL", ">WAIT", "UNTIL", "REASON"), a.healthRows(list))
	})
}

func (a *app) healthRows(list []history.Health) [][]string {
	var rows [][]string
	for _, h := range list {
		well, wait, until := "", "", ""
		if h.Success >= 0 {
			well = fmt.Sprintf("%.0f%%", 100*h.Success)
		}
		if h.WaitRatio > 0 {
			wait = fmt.Sprintf("x%.2g", h.WaitRatio)
		}
		if !h.Until.IsZero() {
			until = h.Until.In(a.env.Now().Location()).Format(time.DateTime)
		}
		color := map[string]style{"banned": red, "pinned down": red, "trial": yellow}[h.State]
		state := h.State
		if color != "" {
			state = a.style(color, state)
		}
		rows = append(rows, []string{h.Resource, state, strconv.Itoa(h.Jobs), well, wait, until, cut(h.Reason, 80)})
	}
	return rows
}

func (a *app) healthClearCmd() *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use:     "clear RESOURCE...",
		Short:   "Forget failures and bans; run times and waits stay",
		Long:    "Clear forgets the failures of the named resources or services, and their bans. Pins stay: see unpin.",
		Example: "  grid health clear 'host ce.example.org'\n  grid health clear --all",
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return usageError(fmt.Errorf("name resources, or --all"))
			}
			return a.withHistory(func(h *history.Registry) error { return h.Clear(cmd.Context(), args...) })
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "clear every resource and service")
	return cmd
}

func (a *app) healthPinCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "pin RESOURCE up|down",
		Short:   "Never ban a resource, or never use it",
		Long:    "Pin overrides what experience says: up never bans the resource (its id, as grid resources --json shows it), down never uses it.",
		Example: "  grid health pin ce.example.org:9619/ce.example.org-condor down",
		Args:    usageArgs(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[1] != "up" && args[1] != "down" {
				return usageError(fmt.Errorf("%q: say up or down", args[1]))
			}
			return a.withHistory(func(h *history.Registry) error { return h.Pin(cmd.Context(), args[0], args[1] == "up") })
		},
	}
}

func (a *app) healthUnpinCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "unpin RESOURCE",
		Short:   "End a pin",
		Long:    "Unpin leaves the resource to experience again. There being no pin is no error.",
		Example: "  grid health unpin ce.example.org:9619/ce.example.org-condor",
		Args:    usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withHistory(func(h *history.Registry) error { return h.Unpin(cmd.Context(), args[0]) })
		},
	}
}
