package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/jobs"
	"gridbroker/plugins"
)

// selection holds the flags that choose jobs of the store.
type selection struct {
	all    bool
	since  string
	states []string
	asking asking
}

// asking is when a verb asks the back-ends about the jobs before its own work.
// Where it does, --state means the state they tell now, else the recorded one.
type asking int

const (
	never    asking = iota
	ifStates        // when --state was given
	always
)

const selectionHelp = `Jobs are named by id, by a beginning or an end of an id that is its alone, or
by the id of a collection or DAG; "-" reads ids from standard input, the first
word of each line. Instead of ids: --all, --since, --state.`

func (s *selection) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVarP(&s.all, "all", "a", false, "all recorded jobs")
	f.StringVar(&s.since, "since", "", "jobs submitted since a `time` (2h, 3d, 2026-11-21, 2026-11-21T06:00)")
	f.StringSliceVar(&s.states, "state", nil, "jobs in these `states` (intended, submitting, accepted, preparing, queued, running, held, finishing, done, failed, cancelled, lost)")
}

func (s *selection) given() bool { return s.all || s.since != "" || len(s.states) > 0 }

// selectJobs returns the jobs that arguments and flags name; without any, what
// the verb takes for granted: none (an error), or those not ended yet.
func (a *app) selectJobs(ctx context.Context, store jobs.Store, args []string, sel selection, live bool) ([]*jobs.Outcome, error) {
	if len(args) > 0 {
		ids, err := a.ids(args)
		if err != nil {
			return nil, err
		}
		rs, err := store.Find(ctx, ids)
		if err = a.sayDamaged(err); err != nil {
			return nil, usageID(err)
		}
		return filter(jobs.Outcomes(rs), sel, a.env.Now())
	}
	if !sel.given() && !live {
		return nil, usageError(errors.New("name jobs by id, or say --all, --since or --state"))
	}
	wanted, err := parseStates(sel.states)
	if err != nil {
		return nil, usageError(err)
	}
	q := jobs.Query{Live: !sel.given()}
	if sel.asking == never {
		q.States = wanted
	}
	if q.Since, err = parseSince(sel.since, a.env.Now()); err != nil {
		return nil, usageError(err)
	}
	rs, err := store.Select(ctx, q)
	return jobs.Outcomes(rs), a.sayDamaged(err)
}

// sayDamaged names records that cannot be read; the others go on.
func (a *app) sayDamaged(err error) error {
	if d, ok := errors.AsType[*jobs.DamagedError](err); ok {
		fmt.Fprintf(a.env.Err, "grid: %v\n", d)
		return nil
	}
	return err
}

// refreshed asks the back-ends about the jobs, and then keeps those in the
// states the user named. Errors of the others are reported here.
func (a *app) refreshed(ctx context.Context, s *session, rs []*jobs.Outcome, sel selection) ([]*jobs.Outcome, error) {
	a.learnFromEnds(s)
	if err := s.jobs.Refresh(ctx, rs); err != nil {
		return nil, err
	}
	wanted, err := parseStates(sel.states)
	if err != nil || len(wanted) == 0 {
		return rs, err
	}
	var keep, others []*jobs.Outcome
	for _, r := range rs {
		if slices.Contains(wanted, r.State) {
			keep = append(keep, r)
		} else {
			others = append(others, r)
		}
	}
	a.report(others)
	return keep, nil
}

func usageID(err error) error {
	if _, ok := errors.AsType[*jobs.IDError](err); ok {
		return usageError(err)
	}
	return err
}

// filter applies --state and --since to jobs named by id.
func filter(rs []*jobs.Outcome, sel selection, now time.Time) ([]*jobs.Outcome, error) {
	since, err := parseSince(sel.since, now)
	if err != nil {
		return nil, usageError(err)
	}
	wanted, err := parseStates(sel.states)
	if err != nil {
		return nil, usageError(err)
	}
	keep := rs[:0]
	for _, r := range rs {
		ok := len(wanted) == 0 || sel.asking != never || slices.Contains(wanted, r.State)
		if ok && !r.Created.Before(since) {
			keep = append(keep, r)
		}
	}
	return keep, nil
}

var states = []plugins.State{plugins.Intended, plugins.Submitting, plugins.Accepted, plugins.Preparing, plugins.Queued, plugins.Running,
	plugins.Held, plugins.Finishing, plugins.Done, plugins.Failed, plugins.Cancelled, plugins.Lost}

func parseStates(words []string) ([]plugins.State, error) {
	var out []plugins.State
	for _, s := range words {
		st, err := parseState(s)
		if err != nil {
			return nil, err
		}
		out = append(out, st)
	}
	return out, nil
}

func parseState(s string) (plugins.State, error) {
	for _, st := range states {
		if strings.EqualFold(s, string(st)) {
			return st, nil
		}
	}
	return "", fmt.Errorf("no such state: %s", s)
}

// parseSince reads a length of time back from now, or a date with or without
// a time of day, in the local zone.
func parseSince(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if d, err := time.ParseDuration(days + "h"); err == nil {
			return now.Add(-24 * d), nil
		}
	}
	if d, err := time.ParseDuration(s); err == nil {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04", time.DateTime, time.RFC3339} {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("--since %s: say 90m, 2h, 3d, 2026-11-21 or 2026-11-21T06:00", s)
}

// ids replaces "-" by the ids on standard input.
func (a *app) ids(args []string) ([]string, error) {
	var ids []string
	for _, arg := range args {
		if arg != "-" {
			ids = append(ids, arg)
			continue
		}
		sc := bufio.NewScanner(a.env.In)
		for sc.Scan() {
			if f := strings.Fields(sc.Text()); len(f) > 0 && f[0] != "ID" {
				ids = append(ids, f[0])
			}
		}
		if err := sc.Err(); err != nil {
			return nil, fmt.Errorf("standard input: %w", err)
		}
	}
	return ids, nil
}

// completeIDs offers job ids to the shell.
func (a *app) completeIDs(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	s, err := a.open(planning{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer s.close()
	if err := a.openStore(s); err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	rs, err := s.jobs.Store.Select(cmd.Context(), jobs.Query{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []cobra.Completion
	for _, r := range rs {
		out = append(out, cobra.CompletionWithDesc(r.ID, r.Name+" "+string(r.State)))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
