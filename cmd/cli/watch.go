package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gridbroker/jobs"
	"gridbroker/plugins"
)

type watchOptions struct {
	planning planning
	sel      selection
	timeout  time.Duration
}

// timeoutVar registers how long a verb waits for jobs at most.
func timeoutVar(f *pflag.FlagSet, timeout *time.Duration) {
	lengthVar(f, timeout, "timeout", 0, "wait no longer than this `time`: then the exit code is 124, and the jobs go on")
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
  grid watch --since 1h --timeout 12h
  grid submit sweep.jdl | grid watch -`,
	}
	o.planning.register(cmd.Flags())
	o.sel.register(cmd)
	timeoutVar(cmd.Flags(), &o.timeout)
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
	sayNone(d, rs)
	err = followJobs(ctx, d, s, waitOptions{o.planning.discovery, o.timeout, false}, rs)
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

// needsWait refuses a time-out of a verb that does not wait.
func needsWait(wait bool, timeout time.Duration) error {
	if timeout > 0 && !wait {
		return usageError(errors.New("--timeout bounds how long --wait waits: say --wait too"))
	}
	return nil
}

// waitOptions is how a verb waits for jobs.
type waitOptions struct {
	where   discovery
	timeout time.Duration // 0: to the end
	brief   bool          // only what changes is shown
}

// followJobs waits for jobs and shows them meanwhile.
func followJobs(ctx context.Context, d *deps, s *session, o waitOptions, rs []*jobs.Outcome) error {
	show := changeLines(d, rs, o.brief)
	if draws(d, d.env.Terminal) && !d.json {
		show = liveTable(d)
	}
	// Time that is over ends the command as the user would: what is under way is
	// looked up later, and no site is taken for one that does not answer.
	within, stop := context.WithCancel(ctx)
	defer stop()
	if o.timeout > 0 {
		defer time.AfterFunc(o.timeout, stop).Stop()
	}
	err := s.jobs.Wait(within, rs, jobs.Waiting{Discover: rediscover(d, s, o.where), Seen: show, Pause: 5 * time.Second})
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() == nil:
		left := 0
		for _, r := range rs {
			if !r.Final() {
				left++
			}
		}
		return &exitError{exitTimeout, fmt.Errorf("after %s %d of %s had not ended; grid watch follows on", o.timeout, left, counted(len(rs), "job"))}
	case errors.Is(err, context.Canceled):
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
				say(d, out, "%s  %s  %s\n", d.env.Now().Format("15:04:05"), r.ID, now)
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
