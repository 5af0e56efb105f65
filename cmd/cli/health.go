package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/broker"
	"gridbroker/jobs"
	"gridbroker/plugins/history"
)

func healthCmd(d *deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "health",
		Short: "What is known of how resources behave; impose and lift bans",
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
		RunE: func(cmd *cobra.Command, _ []string) error { return runHealth(d, cmd) },
	}
	cmd.AddCommand(healthClearCmd(d), healthPinCmd(d), healthUnpinCmd(d))
	return cmd
}

// withHistory opens the registry of tasks for a verb.
func withHistory(d *deps, do func(h *history.Registry) error) error {
	c, err := loadConfig(d)
	if err != nil {
		return err
	}
	h, err := history.Open(stateDir(d, c), d.env.Now)
	if err != nil {
		return err
	}
	defer h.Close()
	return do(h)
}

func runHealth(d *deps, cmd *cobra.Command) error {
	list, err := readHealth(cmd.Context(), d)
	if err != nil {
		return err
	}
	if d.json {
		return printJSON(d, "health", healthDocument{list})
	}
	return table(d, columns("RESOURCE", "STATE", ">JOBS", ">WELL", ">WAIT", "UNTIL", "REASON"), healthRows(d, list))
}

// readHealth reads the registry of tasks, or a copy of it where nothing can be written.
func readHealth(ctx context.Context, d *deps) (list []history.Health, err error) {
	c, err := loadConfig(d)
	if err != nil {
		return nil, err
	}
	for _, open := range []func(string, func() time.Time) (*history.Registry, error){history.Open, history.OpenCopy} {
		var h *history.Registry
		if h, err = open(stateDir(d, c), d.env.Now); err == nil {
			list, err = h.Health(ctx)
			err = errors.Join(err, h.Close())
		}
		if err == nil || !jobs.Unwritable(err) {
			return list, err
		}
	}
	return nil, err
}

func healthRows(d *deps, list []history.Health) [][]string {
	var rows [][]string
	for _, h := range list {
		well, wait, until := "", "", ""
		if h.Success >= 0 {
			well = fmt.Sprintf("%.0f%%", 100*h.Success)
		}
		if h.WaitRatio > 0 {
			wait = ratioText(h.WaitRatio)
		}
		if !h.Until.IsZero() {
			until = h.Until.In(d.env.Now().Location()).Format(time.DateTime)
		}
		color := map[string]style{"banned": red, "pinned down": red, "trial": yellow}[h.State]
		state := h.State
		if color != "" {
			state = styled(d, color, state)
		}
		rows = append(rows, []string{h.Resource, state, strconv.Itoa(h.Jobs), well, wait, until, cut(h.Reason, 80)})
	}
	return rows
}

func healthClearCmd(d *deps) *cobra.Command {
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
			return withHistory(d, func(h *history.Registry) error {
				if err := h.Clear(cmd.Context(), args...); err != nil || !d.json {
					return err
				}
				return printJSON(d, "health.pin", pinDocument{"cleared", args})
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "clear every resource and service")
	return cmd
}

func healthPinCmd(d *deps) *cobra.Command {
	return &cobra.Command{
		Use:     "pin RESOURCE up|down",
		Short:   "Never ban a resource, or never use it",
		Long:    "Pin overrides what experience says: up never bans the resource, down never uses it. A resource is named by id, name, site or host, or by a pattern, as with --site.",
		Example: "  grid health pin ce.example.org/long down\n  grid health pin 'cern*' up",
		Args:    usageArgs(cobra.ExactArgs(2)),

		ValidArgsFunction: completePins(d, "up", "down"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[1] != "up" && args[1] != "down" {
				return usageError(fmt.Errorf("%q: say up or down", args[1]))
			}
			return pinEach(cmd.Context(), d, args[0], args[1], func(h *history.Registry, id string) error {
				return h.Pin(cmd.Context(), id, args[1] == "up")
			})
		},
	}
}

func healthUnpinCmd(d *deps) *cobra.Command {
	return &cobra.Command{
		Use:     "unpin RESOURCE",
		Short:   "End a pin",
		Long:    "Unpin leaves the resource to experience again. There being no pin is no error.",
		Example: "  grid health unpin ce.example.org/long",
		Args:    usageArgs(cobra.ExactArgs(1)),

		ValidArgsFunction: completePins(d),
		RunE: func(cmd *cobra.Command, args []string) error {
			return pinEach(cmd.Context(), d, args[0], "unpinned", func(h *history.Registry, id string) error {
				return h.Unpin(cmd.Context(), id)
			})
		},
	}
}

// resourceIDs are the ids of the resources that a name or pattern means: among those that are published now and those
// that are remembered.
func resourceIDs(ctx context.Context, d *deps, h *history.Registry, name string) ([]string, error) {
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
	s, err := openSession(d, planning{}, needs{})
	if err != nil {
		return nil, err
	}
	defer s.close()
	snap, err := look(ctx, d, s, discovery{})
	if err != nil {
		return nil, err
	}
	for _, r := range references(snap) {
		if broker.Named(name, r) {
			found[r.ID] = true
		}
	}
	if len(found) == 0 {
		return nil, &exitError{exitNoMatch, fmt.Errorf("no resource is named %s", name)}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// pinEach pins, or unpins, the resources that a name or pattern means, and says which.
func pinEach(ctx context.Context, d *deps, name, how string, pin func(h *history.Registry, id string) error) error {
	var ids []string
	err := withHistory(d, func(h *history.Registry) (err error) {
		if ids, err = resourceIDs(ctx, d, h, name); err != nil {
			return err
		}
		for _, id := range ids {
			if err := pin(h, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if d.json {
		return printJSON(d, "health.pin", pinDocument{how, ids})
	}
	for _, id := range ids {
		sayOut(d, "%s  %s", id, how)
	}
	return nil
}

// ratioText is how many times as long something took, in as few digits as tell people more.
func ratioText(r float64) string {
	switch {
	case r < 0.01:
		return "x<0.01"
	case r < 10:
		return fmt.Sprintf("x%.2g", r)
	}
	return fmt.Sprintf("x%.0f", r)
}
