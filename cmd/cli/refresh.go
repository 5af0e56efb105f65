package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/foreign"
	"gridbroker/jdl"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

type refreshOptions struct {
	sel         selection
	description string
	priority    float64
	setPriority bool
}

func refreshCmd(d *deps) *cobra.Command {
	o := refreshOptions{sel: selection{asking: ifStates}}
	cmd := &cobra.Command{
		Use:   "refresh ID...",
		Short: "Renew what was delegated for jobs; change jobs that wait at a central scheduler",
		Long: `Refresh brings the credentials up to date that back-ends keep for jobs, so that
long jobs outlive the proxy they were submitted with.

With --priority or --jdl it changes jobs that wait in the global queue of a
central scheduler instead: what each processor-hour costs, or the whole
description. The input files stay those that came with the job; the record here
keeps the first description.

` + selectionHelp,
		Example: `  grid refresh --state queued,running
  grid refresh 1m7y8 --priority 5
  grid refresh 1m7y8 --jdl shorter.jdl`,
	}
	o.sel.register(cmd)
	cmd.Flags().Float64Var(&o.priority, "priority", 0, "the new `priority` at the scheduler, above 0")
	cmd.Flags().StringVar(&o.description, "jdl", "", "the new description: a `file` with one job")
	return jobsVerb(d, cmd, &o.sel, func(ctx context.Context) error {
		o.setPriority = cmd.Flags().Changed("priority")
		return runRefresh(ctx, d, o)
	})
}

func runRefresh(ctx context.Context, d *deps, o refreshOptions) error {
	return withJobs(ctx, d, o.sel, func(s *session, rs []*jobs.Outcome) error {
		if !o.setPriority && o.description == "" {
			if err := s.jobs.Renew(ctx, rs); err != nil {
				return err
			}
			return showJobs(d, "refresh", rs)
		}
		change, err := o.change(d)
		if err != nil {
			return err
		}
		for _, r := range rs {
			r.Err = changeAt(ctx, s, r, change)
		}
		return showJobs(d, "refresh", rs)
	})
}

// change is what the scheduler is to be told.
func (o refreshOptions) change(d *deps) (map[string]any, error) {
	change := map[string]any{}
	if o.setPriority {
		if err := jdl.CheckPriority(o.priority); err != nil {
			return nil, usageError(fmt.Errorf("--%w", err))
		}
		change["priority"] = o.priority
	}
	if o.description != "" {
		files, err := readJobs(d, []string{o.description})
		if err != nil {
			return nil, err
		}
		all := jobsOf(files)
		if len(all) != 1 {
			return nil, usageError(fmt.Errorf("--jdl %s: it describes %d jobs, want one", o.description, len(all)))
		}
		change["jdl"] = all[0].Text()
	}
	return change, nil
}

// changeAt changes one job at its scheduler.
func changeAt(ctx context.Context, s *session, r *jobs.Outcome, change map[string]any) error {
	back, ok := s.backends.For(r.Handle.Interface)
	call, can := back.(caller)
	log, numbers := back.(plugins.Journaler)
	switch {
	case r.Final() || r.Handle.ID == "":
		return fmt.Errorf("job %s is %s: nothing to change", r.ID, r.State)
	case !ok || !can || !numbers:
		return &plugins.Error{Kind: plugins.Refused, Op: "refresh", Endpoint: r.Handle.Endpoint,
			Err: errors.New("only a job that waits at a central scheduler can be changed")}
	}
	var last int64
	err := log.Entries(ctx, r.Handle, 0, func(e plugins.LogEntry) error { last = max(last, e.ID); return nil })
	if err == nil {
		err = call.Call(ctx, r.Handle.Endpoint, "refresh", "PATCH", "/v1/jobs/"+url.PathEscape(r.Handle.ID), change, nil)
	}
	if err != nil {
		return err
	}
	return changed(ctx, log, r, last)
}

// changeTime is how long a change is waited for: the scheduler's next cycle takes it in, where the job still waits then.
const changeTime = 10 * time.Second

var errKnown = errors.New("what has become of the change is known")

// changed waits until the scheduler has taken in a change of a job, after an entry of its log. What is not known then is with its log.
func changed(ctx context.Context, log plugins.Journaler, r *jobs.Outcome, last int64) error {
	ctx, cancel := context.WithTimeout(ctx, changeTime)
	defer cancel()
	known, refused := false, error(nil)
	look := func(e plugins.LogEntry) error {
		switch e.Event {
		case "refreshed":
			known = true
		case "refresh refused":
			known, refused = true, &plugins.Error{Kind: plugins.Refused, Op: "refresh", Endpoint: r.Handle.Endpoint, Said: foreign.Text(e.Said)}
		default:
			return nil
		}
		return errKnown
	}
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		_ = log.Entries(ctx, r.Handle, last, look) // one that does not answer is asked again
		if known {
			return refused
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}
