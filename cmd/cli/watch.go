package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/foreign"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

type watchOptions struct {
	planning planning
	sel      selection
}

func watchCmd(d *deps) *cobra.Command {
	o := watchOptions{sel: selection{asking: ifStates, live: true}}
	cmd := &cobra.Command{
		Use:   "watch [ID...]",
		Short: "Follow jobs until they have ended",
		Long: `Watch shows the jobs as they go on, a live table on a terminal and a line per
change elsewhere, until all have ended. Failed jobs are sent again as their
RetryCount and ShallowRetryCount allow, never to where they failed, and nodes
of a DAG start when those before them are done.

` + selectionHelp + `
Without any, all jobs that have not ended.`,
		Example: `  grid watch
  grid watch --since 1h
  grid submit sweep.jdl | grid watch -`,
	}
	o.planning.register(cmd.Flags())
	o.sel.register(cmd)
	return jobsVerb(d, cmd, &o.sel, func(ctx context.Context) error {
		o.planning.seeded = cmd.Flags().Changed("seed")
		return runWatch(ctx, d, o)
	})
}

func runWatch(ctx context.Context, d *deps, o watchOptions) error {
	s, rs, err := openJobs(ctx, d, o.planning, o.sel, needs{services: true, scouts: scouting{on: true, follow: true}})
	if err != nil {
		return err
	}
	defer s.close()
	err = followJobs(ctx, d, s, o.planning.discovery, rs, false)
	if d.json {
		if jerr := printJSON(d, "watch", jobsJSON(rs)); jerr != nil {
			return jerr
		}
	}
	if err != nil {
		return err
	}
	return outcomeOf(d, rs, endErr)
}

// followJobs waits for jobs and shows them meanwhile.
func followJobs(ctx context.Context, d *deps, s *session, where discovery, rs []*jobs.Outcome, brief bool) error {
	show := changeLines(d, rs, brief)
	if d.env.Terminal && !d.json {
		show = liveTable(d)
	}
	err := s.jobs.Wait(ctx, rs, jobs.Waiting{Discover: rediscover(d, s, where), Seen: show, Pause: 5 * time.Second})
	if errors.Is(err, context.Canceled) {
		return interrupted{"interrupted; the jobs go on, and grid watch follows them"}
	}
	return err
}

// interrupted is that the user stopped the command, with how to go on.
type interrupted struct{ how string }

func (i interrupted) Error() string { return i.how }
func (interrupted) Unwrap() error   { return context.Canceled }

// changes prints a line whenever a job changes its state: on standard error
// when standard output carries something else.
func changeLines(d *deps, rs []*jobs.Outcome, quiet bool) func([]*jobs.Outcome) {
	out := d.env.Out
	if d.json || quiet {
		out = d.env.Err
	}
	last := map[string]string{}
	for _, r := range rs {
		if quiet {
			last[r.ID] = line(r)
		}
	}
	return func(rs []*jobs.Outcome) {
		for _, r := range rs {
			if now := line(r); now != last[r.ID] {
				last[r.ID] = now
				fmt.Fprintf(out, "%s  %s  %s\n", d.env.Now().Format("15:04:05"), r.ID, foreign.Text(now))
			}
		}
	}
}

// line is a job's state in words; it changes when something worth telling has.
func line(r *jobs.Outcome) string {
	parts := []string{r.Name, string(r.State)}
	if r.At != "" {
		parts = append(parts, "at "+r.At)
	}
	if r.ExitCode != nil && r.State == plugins.Done {
		parts = append(parts, fmt.Sprintf("exit code %d", *r.ExitCode))
	}
	if text := note(r); text != "" {
		parts = append(parts, "- "+text)
	}
	return strings.Join(parts, " ")
}
