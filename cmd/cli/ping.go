package cli

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/credential"
	"gridbroker/plugins"
)

// pong is one endpoint's line of the answer.
type pong struct {
	URL       string   `json:"url"`
	Up        bool     `json:"up"`
	Interface string   `json:"interface,omitempty"`
	Versions  []string `json:"versions,omitempty"`
	Identity  string   `json:"identity,omitempty"` // as whom we present ourselves
	LetIn     bool     `json:"let_in"`
	Told      *int     `json:"resources,omitempty"` // how many resources an information system told of
	Rights    []string `json:"rights,omitempty"`    // what we may do there that not everybody may
	Leads     bool     `json:"leads,omitempty"`     // of several replicas the one that plans
	Hinders   []string `json:"hinders,omitempty"`   // what would keep all jobs of ours there from being begun
	Said      string   `json:"said,omitempty"`      // the service's words when it does not
	Seconds   float64  `json:"latency_seconds,omitempty"`
	Ahead     float64  `json:"clock_ahead_seconds,omitempty"` // this machine's clock of the service's, negative: behind; none: they agree within 30 s, or it is not known
	Error     string   `json:"error,omitempty"`
	err       error
}

func pingCmd(d *deps) *cobra.Command {
	timeout := 10 * time.Second
	cmd := &cobra.Command{
		Use:   "ping URL...",
		Short: "Is this service up, and am I let in",
		Long: `Asks each computing element for the versions of its interface, which everybody
is told, and for the list of your jobs, which it gives only to those who may
submit. Shows what it said, and as whom you were presented to it. A central
scheduler is asked by the URL that --via takes, and tells whether you administer it,
for which clusters you speak, whether this replica leads, and what would keep your jobs
from being begun: a budget that is spent, no open cluster whose owner lets you in, a proxy
that ends within the hour, a clock that is wrong, a full disk, a database that does not answer,
no replica that leads. A tree of managers is asked by
tree://HOST:PORT. An information system (ldap:, archery:, a file) is asked all that
grid resources would ask it, and how many resources it told of is shown.

The exit code is 0 when all are up and let you in, 4 when one is up and does not
let you in, 1 when one is down; 7 when a scheduler is up, lets you in and would
begin none of your jobs now.`,
		Example: `  grid ping https://ce.example.org/arex
  grid ping --json https://ce1.example.org/arex https://ce2.example.org/arex
  grid ping https://scheduler.example.org:6120
  grid ping tree://ce.example.org:7701
  grid ping ldap://bdii.example.org:2170/o=glue`,
		Args: usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, urls []string) error {
			ctx, stop := context.WithTimeout(cmd.Context(), timeout)
			defer stop()
			pongs, err := runPing(ctx, d, urls)
			if err == nil {
				err = cmd.Context().Err() // nobody is down for that
			}
			if err != nil {
				return err
			}
			return printPongs(d, pongs)
		},
	}
	lengthVar(cmd.Flags(), &timeout, "deadline", timeout, "give up after this `time`")
	cmd.ValidArgsFunction = cobra.FixedCompletions(urlBeginnings(d.env.Backends), cobra.ShellCompDirectiveNoSpace|cobra.ShellCompDirectiveNoFileComp)
	return cmd
}

func runPing(ctx context.Context, d *deps, urls []string) ([]pong, error) {
	c, err := loadConfig(d)
	if err != nil {
		return nil, err
	}
	backs, err := openBackends(d, c)
	if err != nil {
		return nil, err
	}
	defer backs.Close()
	urls = replicas(urls)
	pongs := make([]pong, len(urls))
	var wg sync.WaitGroup
	for i, url := range urls {
		wg.Go(func() { pongs[i] = pingAny(ctx, d, c, backs, url) })
	}
	wg.Wait()
	return pongs, nil
}

// replicas takes the URLs of a scheduler's replicas, with commas between, apart.
func replicas(urls []string) (list []string) {
	for _, raw := range urls {
		if strings.Contains(raw, ",") && strings.Count(raw, "://") > strings.Count(raw, ",") {
			list = append(list, strings.Split(raw, ",")...)
			continue
		}
		list = append(list, raw)
	}
	return list
}

// pingAny asks what a URL names, and where that is not there, or no such kind is
// known, the scheduler that has this URL.
func pingAny(ctx context.Context, d *deps, c config, reg *plugins.Registry, url string) pong {
	as := asScheduler(url)
	if _, known := reg.ForURL(as); !known {
		return pingSource(ctx, d, c, reg, url)
	}
	p := pingOne(ctx, d, reg, url)
	if p.Up || as == url {
		return p
	}
	q := pingOne(ctx, d, reg, as)
	if _, known := reg.ForURL(url); known && !q.Up {
		return p
	}
	q.URL = url
	return q
}

// pingSource asks an information system, which lets everybody in.
func pingSource(ctx context.Context, d *deps, c config, reg *plugins.Registry, url string) pong {
	found, err := discover(ctx, d, c, reg, discovery{info: []string{url}, noCache: true, maxAge: 0})
	if err != nil {
		err = usageError(fmt.Errorf("%s: no such kind of service; known are %s, and the sources of grid resources --info", url, urlForms(d)))
		return pong{URL: url, Error: err.Error(), err: err}
	}
	o := found.Outcomes[0]
	if o.Err != nil && o.Resources == 0 {
		return pong{URL: url, Error: o.Err.Error(), err: o.Err}
	}
	p := pong{URL: url, Up: true, Interface: "information system", LetIn: true, Told: &o.Resources, Seconds: o.Took.Seconds()}
	if o.Err != nil {
		p.Said = o.Err.Error()
	}
	return p
}

func pingOne(ctx context.Context, d *deps, reg *plugins.Registry, url string) pong {
	pinger, err := pingerFor(d, reg, url)
	if err != nil {
		return pong{URL: url, Error: err.Error(), err: err}
	}
	got, err := pinger.Ping(ctx, url)
	if err != nil {
		return pong{URL: url, Error: err.Error(), err: err}
	}
	if f := unshown(d); f != nil && !got.LetIn {
		got.Said = fmt.Sprintf("no credential was shown: %s [%s], mend: %s", f.What, f.ID, f.Mend)
	}
	return pong{URL: url, Up: true, Interface: got.Interface, Versions: got.Versions, Identity: got.Identity,
		LetIn: got.LetIn, Rights: got.Rights, Leads: got.Leads, Hinders: got.Hinders, Said: got.Said, Seconds: got.Latency.Seconds(), Ahead: got.ClockAhead.Round(time.Second).Seconds()}
}

// pingerFor chooses by the URL's scheme.
func pingerFor(d *deps, reg *plugins.Registry, url string) (plugins.Pinger, error) {
	back, ok := reg.ForURL(url)
	if !ok {
		return nil, usageError(fmt.Errorf("%s: no such kind of service; known are %s", url, urlForms(d)))
	}
	if p, ok := back.Submitter.(plugins.Pinger); ok {
		return p, nil
	}
	return nil, usageError(fmt.Errorf("%s: there is nothing to ping behind this URL", url))
}

func printPongs(d *deps, pongs []pong) error {
	if d.json {
		if err := printJSON(d, "ping", pingDocument{pongs}); err != nil {
			return err
		}
	} else {
		for _, p := range pongs {
			printPong(d, p)
		}
	}
	return verdict(pongs)
}

func printPong(d *deps, p pong) {
	out := d.env.Out
	if !p.Up {
		state := "down"
		if exitCode(context.Background(), p.err) == exitUsage {
			state = "not asked"
		}
		say(d, out, "%s\n  %s: %s\n", p.URL, state, passage(p.Error))
		return
	}
	speaks := strings.Join(append([]string{p.Interface}, p.Versions...), " ")
	leads := ""
	if p.Leads {
		leads = ", leads"
	}
	say(d, out, "%s\n  up: %s, answered in %.0f ms%s\n", p.URL, speaks, p.Seconds*1000, leads)
	if p.Ahead != 0 {
		way := map[bool]string{true: "ahead of", false: "behind"}[p.Ahead > 0]
		say(d, out, "  this machine's clock is %s %s the service's\n", credential.Span(time.Duration(p.Ahead)*time.Second), way)
	}
	if p.Told != nil {
		say(d, out, "  told of %s\n", count(*p.Told, "resource"))
		if p.Said != "" {
			say(d, out, "  not all was told: %s\n", passage(p.Said))
		}
		return
	}
	who := ""
	if p.Identity != "" {
		who = " as " + p.Identity
	}
	if p.LetIn {
		say(d, out, "  let in%s\n", who)
		if len(p.Rights) > 0 {
			say(d, out, "  may: %s\n", strings.Join(p.Rights, ", "))
		}
		for _, why := range p.Hinders {
			say(d, out, "  jobs would not be begun: %s\n", passage(why))
		}
		return
	}
	say(d, out, "  not let in%s: %s\n", who, passage(p.Said))
}

// verdict is the error that gives the exit code; all has been said already.
func verdict(pongs []pong) error {
	var worst error
	for _, p := range pongs {
		switch {
		case p.err != nil:
			return &exitError{exitCode(context.Background(), p.err), errReported}
		case !p.LetIn:
			worst = &exitError{exitCredential, errReported}
		case len(p.Hinders) > 0 && worst == nil:
			worst = &exitError{exitHindered, errReported}
		}
	}
	return worst
}
