package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/broker"
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
		Long:    "Pin overrides what experience says: up never bans the resource, down never uses it. A resource is named by id, name, site or host, or by a pattern, as with --site.",
		Example: "  grid health pin ce.example.org/long down\n  grid health pin 'cern*' up",
		Args:    usageArgs(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[1] != "up" && args[1] != "down" {
				return usageError(fmt.Errorf("%q: say up or down", args[1]))
			}
			return a.withHistory(func(h *history.Registry) error {
				ids, err := a.resourceIDs(cmd.Context(), h, args[0])
				if err != nil {
					return err
				}
				return a.eachPin(ids, args[1], func(id string) error { return h.Pin(cmd.Context(), id, args[1] == "up") })
			})
		},
	}
}

func (a *app) healthUnpinCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "unpin RESOURCE",
		Short:   "End a pin",
		Long:    "Unpin leaves the resource to experience again. There being no pin is no error.",
		Example: "  grid health unpin ce.example.org/long",
		Args:    usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withHistory(func(h *history.Registry) error {
				ids, err := a.resourceIDs(cmd.Context(), h, args[0])
				if err != nil {
					return err
				}
				return a.eachPin(ids, "unpinned", func(id string) error { return h.Unpin(cmd.Context(), id) })
			})
		},
	}
}

// resourceIDs are the ids of the resources that a name or pattern means: among those that are published now and those
// that are remembered.
func (a *app) resourceIDs(ctx context.Context, h *history.Registry, name string) ([]string, error) {
	known, err := h.Health(ctx)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, k := range known {
		if k.Resource == name || like(name, k.Resource) {
			found[k.Resource] = true
		}
	}
	s, err := a.open(planning{})
	if err != nil {
		return nil, err
	}
	defer s.close()
	if err := a.look(ctx, s); err != nil {
		return nil, err
	}
	for _, r := range s.resources() {
		if broker.Named(name, r) {
			found[r.ID] = true
		}
	}
	if len(found) == 0 {
		return nil, &exitError{exitNoMatch, fmt.Errorf("no resource is named %s", name)}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// eachPin pins resources and says which.
func (a *app) eachPin(ids []string, how string, pin func(id string) error) error {
	for _, id := range ids {
		if err := pin(id); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON("health.pin", struct {
			Pin       string   `json:"pin"`
			Resources []string `json:"resources"`
		}{how, ids})
	}
	for _, id := range ids {
		fmt.Fprintf(a.env.Out, "%s  %s\n", id, how)
	}
	return nil
}
