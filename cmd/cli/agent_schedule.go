package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/batch"
	"gridbroker/plugins/wiki"
)

type scheduleOptions struct {
	policy, lrms, config, keyFile, ca string
	state                             string
	every                             time.Duration
	once, dry                         bool
}

func agentScheduleCmd(d *deps) *cobra.Command {
	var f scheduleOptions
	cmd := &cobra.Command{
		Use:   "schedule",
		Short: "Schedule a cluster that speaks WIKI",
		Long: `Schedule is a live external scheduler: it polls a resource manager that speaks WIKI
(grid agent wiki serve, or the WIKI interface of a batch system), decides by a
policy of grid sim queue, and starts, cancels, suspends and resumes jobs there.

The policy maui decides as Maui 3.3.1 does, by named nodes, and reads a
maui.cfg with --maui-cfg; parameters that are not modelled are named in warnings.

What runs and waits is known to the resource manager, so it may be killed and
started again at any time; what Maui remembers besides (the usage that fair share
goes by, how often a job was overtaken) is kept in --state. --dry-run tells what it would do, and what the
site's own scheduler starts meanwhile.`,
		Example: `  grid agent schedule --policy maui --maui-cfg maui.cfg --lrms wiki://127.0.0.1:7321 --key-file wiki.key
  grid agent schedule --policy easy --lrms wiki+unix:///run/wiki.sock --dry-run`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runAgentSchedule(cmd.Context(), d, f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.policy, "policy", "maui", "`POLICY`: "+strings.Join(batch.PolicyNames(), ", "))
	fl.StringVar(&f.lrms, "lrms", "", "`URL` of the resource manager: wiki://HOST:PORT, wikis://HOST:PORT (TLS) or wiki+unix:///PATH")
	fl.StringVar(&f.config, "maui-cfg", "", "maui.cfg `FILE` with the parameters of the policy maui")
	fl.StringVar(&f.keyFile, "key-file", "", "`FILE` with the number that signs messages")
	fl.StringVar(&f.ca, "ca", "", "PEM `FILE` of the authorities that wikis:// trusts (default: the system's)")
	fl.StringVar(&f.state, "state", "", "keep in `FILE` what the policy maui remembers")
	lengthVar(fl, &f.every, "every", 10*time.Second, "poll after this `time`")
	fl.BoolVar(&f.once, "once", false, "one round, then end")
	fl.BoolVar(&f.dry, "dry-run", false, "only tell what would be done")
	return cmd
}

func runAgentSchedule(ctx context.Context, d *deps, f scheduleOptions) error {
	client, err := wikiClient(d, f)
	if err != nil {
		return usageError(err)
	}
	config, err := mauiConfig(d, f.config)
	if err != nil {
		return usageError(err)
	}
	decider, err := wiki.NewDecider(f.policy, config)
	if err != nil {
		return usageError(err)
	}
	if f.every < 100*time.Millisecond {
		return usageError(fmt.Errorf("--every %s: want 100ms or more", f.every))
	}
	if err := recallSchedule(d, f, decider); err != nil {
		return usageError(err)
	}
	loop := &wiki.Loop{
		Cluster: client, Decider: decider, Dry: f.dry, Now: d.env.Now, Defer: deferral(decider), Tell: func(e wiki.Event) { tellEvent(d, e) },
	}
	for {
		err := loop.Round(ctx)
		if err == nil {
			err = keepSchedule(d, f, decider)
		}
		if f.once || ctx.Err() != nil {
			return err
		}
		if err != nil { // the next round sees what became of it
			sayErr(d, "%v", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(f.every):
		}
	}
}

// deferral is how long a job whose start failed is left alone: for the policy
// maui its DEFERTIME, for the others a minute.
func deferral(decider wiki.Decider) time.Duration {
	if m, ok := decider.(wiki.Maui); ok {
		return time.Duration(max(0, m.Scheduler.Config.Defer)) * time.Second
	}
	return time.Minute
}

// wikiClient opens the resource manager.
func wikiClient(d *deps, f scheduleOptions) (*wiki.Client, error) {
	c, err := wiki.ParseURL(f.lrms)
	if err != nil {
		return nil, fmt.Errorf("--lrms: %w", err)
	}
	if c.Key, err = wikiKey(d, f.keyFile); err != nil {
		return nil, err
	}
	c.Now = d.env.Now
	if why := wiki.Insecure(c.Network, c.Address, c.TLS != nil); why != "" {
		sayErr(d, "warning: %s", why)
	}
	if f.ca == "" {
		return c, nil
	}
	if c.TLS == nil {
		return nil, fmt.Errorf("--ca is for wikis://")
	}
	return c, wiki.Trust(c.TLS, abs(d, f.ca))
}

// tellEvent tells of something done, a line each.
func tellEvent(d *deps, e wiki.Event) {
	if d.json {
		printJSON(d, "agent.schedule", eventDocument{e})
		return
	}
	text := fmt.Sprintf("%s %-4s %s %s", e.At.UTC().Format(time.RFC3339), e.By, strings.TrimSuffix(strings.ToLower(e.Verb), "job"), e.Job)
	if len(e.Tasks) > 0 {
		text += " on " + strings.Join(e.Tasks, ":")
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	sayOut(d, "%s", text)
}
