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

	"gridbroker/foreign"
	"gridbroker/jdl/classad"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

// selection holds the flags that choose jobs of the store.
type selection struct {
	all    bool
	since  string
	states []string
	name   string
	site   string
	exit   string
	group  string
	where  string
	yes    bool
	sure   bool // the verb ends or removes jobs
	asking asking
	reads  bool     // the verb tells what is recorded, and changes nothing
	ids    []string // the arguments
	live   bool     // without any: all jobs that have not ended
	verb   string
	// unfound is set where some of the ids name no job while others do: the verb goes
	// on with these. nil: it does not.
	unfound *bool
	// first is how many of the jobs are wanted, in the order of their ids or
	// backwards; 0: all. Only where the records' own columns choose (stored).
	first     int
	backwards bool
}

// asking is when a verb asks the back-ends about the jobs before its own work.
// Where it does, --state means the state they tell now, else the recorded one.
type asking int

const (
	never    asking = iota
	ifStates        // when --state was given
	always
)

const selectionHelp = `Jobs are named by id, by four characters or more of its beginning or end that are
its alone, or by the id of a collection or DAG; "-" reads ids from standard
input, the first word of each line. Ids that name no job, or several, are told, the
others are done, and the exit code is 5. Instead of ids, or to choose among them:
--all, --since, --state, --name, --at, --exit, --group, --where.`

func (s *selection) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVarP(&s.all, "all", "a", false, "all recorded jobs")
	f.StringVar(&s.since, "since", "", "jobs submitted since a `time` (2h, 3d, 2026-11-21, 2026-11-21T06:00)")
	f.StringSliceVar(&s.states, "state", nil, "jobs in these `states` (intended, submitting, accepted, preparing, queued, running, held, finishing, done, failed, cancelled, lost)")
	f.StringVar(&s.name, "name", "", "jobs whose name is `NAME` or fits the pattern, and nodes of that name")
	f.StringVar(&s.site, "at", "", "jobs at this `NAME` of a site or resource, or at those that fit the pattern")
	if f.Lookup("site") == nil { // elsewhere it says where jobs may go
		f.StringVar(&s.site, "site", "", "the same as --at `NAME`")
	}
	f.StringVar(&s.exit, "exit", "", "jobs that ended with this exit `code`; also '!=0', '>=2', '1,2'")
	f.StringVar(&s.group, "group", "", "jobs of the collection, sweep or DAG of this `ID` or name (its JobName, or that of its file), or of a JobGroup")
	f.StringVar(&s.where, "where", "", "jobs for which an `expression` over their JSON is true: 'retries > 1 && site == \"CERN\"'")
}

// asks tells whether the back-ends are asked before the verb's own work.
func (s *selection) asks() bool {
	return s.asking == always || s.asking == ifStates && (len(s.states) > 0 || s.exit+s.where != "")
}

// registerAsking adds --yes for verbs that end or remove jobs.
func (s *selection) registerAsking(cmd *cobra.Command) {
	s.register(cmd)
	s.sure = true
	cmd.Flags().BoolVarP(&s.yes, "yes", "y", false, "do not ask before this is done to jobs that were not named one by one")
}

func (s *selection) given() bool {
	return s.all || len(s.states) > 0 || s.since+s.name+s.site+s.exit+s.group+s.where != ""
}

// selectJobs returns the jobs that arguments and flags name; without any, what
// the verb takes for granted: none (an error), or those not ended yet.
func selectJobs(ctx context.Context, d *deps, store jobs.Store, args []string, sel selection, live bool) ([]*jobs.Outcome, error) {
	if err := sel.check(len(args) > 0); err != nil {
		return nil, usageError(err)
	}
	choose, err := sel.chooser()
	if err != nil {
		return nil, usageError(err)
	}
	var rs []*jobs.Outcome
	if len(args) > 0 {
		rs, err = namedJobs(ctx, d, store, args, sel)
	} else {
		rs, err = describedJobs(ctx, d, store, sel, live)
	}
	if err != nil {
		return nil, err
	}
	if len(args)+len(sel.states) == 0 && sel.since == "" {
		if err := choose.misnamed(rs); err != nil {
			return nil, usageError(err)
		}
	}
	rs = choose.keep(rs)
	if sel.asks() {
		return rs, nil
	}
	return nowOnly(ctx, rs, choose)
}

// meant refuses what cannot be meant, before any records are opened.
func (s *selection) meant(now time.Time) error {
	if _, err := s.chooser(); err != nil {
		return err
	}
	if _, err := s.query(now); err != nil {
		return err
	}
	return s.check(len(s.ids) > 0)
}

// check refuses what says two things at once.
func (s *selection) check(named bool) error {
	if s.all && named {
		return errors.New("--all and ids: say one of them")
	}
	return nil
}

// named are the jobs of the ids on the command line.
func namedJobs(ctx context.Context, d *deps, store jobs.Store, args []string, sel selection) ([]*jobs.Outcome, error) {
	ids, err := ids(d, args)
	if err != nil {
		return nil, err
	}
	rs, err := store.Find(ctx, ids)
	if err = sel.sayUnfound(d, len(rs), err); err != nil {
		return nil, usageID(knownOtherwise(ctx, store, ids, err))
	}
	return filter(jobs.Outcomes(rs), sel, d.env.Now())
}

// knownOtherwise adds to an error about ids how jobs are chosen that one of them is the name of, or which job has it at its site.
func knownOtherwise(ctx context.Context, store jobs.Store, ids []string, err error) error {
	if _, unfound := errors.AsType[*jobs.IDError](err); !unfound {
		return err
	}
	rs, _ := store.Select(ctx, jobs.Query{}) // what cannot be read is no name
	for _, r := range rs {
		if slices.Contains(ids, r.Name) {
			return fmt.Errorf("%w (jobs of that name are chosen by --name)", err)
		}
		if at := slices.IndexFunc(ids, func(id string) bool { return calledThere(r, id) }); at >= 0 {
			return fmt.Errorf("%w (at its site %s is called that)", err, r.ID)
		}
	}
	return err
}

// calledThere is whether a site calls a job by this: its number there, alone or as the end of an address.
func calledThere(r *jobs.Record, id string) bool {
	number, _, _ := strings.Cut(r.Handle.ID, "/") // Slurm's, beside our id
	return number != "" && (id == number || id == r.Handle.ID || strings.HasSuffix(id, "/"+r.Handle.ID))
}

// unfoundIDs is, in a document about jobs, what was said of ids that name no job, or several, beside others that do.
type unfoundIDs struct {
	Unfound []string `json:"unfound,omitempty"`
}

// with is the document with that, where it is one about jobs.
func (u unfoundIDs) with(body any) any {
	switch b := body.(type) {
	case jobsDocument:
		b.unfoundIDs = u
		return b
	case logDocument:
		b.unfoundIDs = u
		return b
	case outputDocument:
		b.unfoundIDs = u
		return b
	case whyDocument:
		b.unfoundIDs = u
		return b
	}
	return body
}

// sayUnfound names the ids that name no job, or several, where there are others.
func (s *selection) sayUnfound(d *deps, found int, err error) error {
	unfound, ok := errors.AsType[*jobs.UnfoundError](err)
	if !ok || found == 0 || s.unfound == nil {
		return err
	}
	*s.unfound = true
	for _, err := range unfound.Errs {
		d.unfound.Unfound = append(d.unfound.Unfound, foreign.Message(err.Error()))
	}
	for _, line := range unfound.Lines() {
		sayErr(d, "%s", line)
	}
	return nil
}

// described are the jobs of --all, --since, --state; those not ended where none was given.
func describedJobs(ctx context.Context, d *deps, store jobs.Store, sel selection, live bool) ([]*jobs.Outcome, error) {
	if !sel.given() && !live {
		return nil, usageError(errors.New("name jobs by id, or say --all, --since, --state, --name, --at, --exit, --group or --where"))
	}
	q, err := sel.query(d.env.Now())
	if err != nil {
		return nil, usageError(err)
	}
	rs, err := store.Select(ctx, q)
	return jobs.Outcomes(rs), sayDamaged(d, err)
}

// query is what the store is asked for, of which a chooser may keep a part.
func (s *selection) query(now time.Time) (jobs.Query, error) {
	q := jobs.Query{Live: !s.given(), Limit: s.first, Backwards: s.backwards}
	wanted, err := parseStates(s.states)
	if err != nil {
		return q, err
	}
	if s.asking == never {
		q.States = wanted
	}
	q.Since, err = parseSince(s.since, now)
	return q, err
}

// stored reports whether the store itself can choose the jobs: nothing else is
// known of them before they are read.
func (s *selection) stored() bool {
	return len(s.ids) == 0 && !s.asks() && s.name+s.site+s.exit+s.group+s.where == ""
}

// sayDamaged names records that cannot be read; the others go on.
func sayDamaged(d *deps, err error) error {
	if damaged, ok := errors.AsType[*jobs.DamagedError](err); ok {
		sayErr(d, "%v", damaged)
		return nil
	}
	return err
}

// nowOnly keeps the jobs that are at this moment as the flags describe them.
func nowOnly(ctx context.Context, rs []*jobs.Outcome, choose *chooser) ([]*jobs.Outcome, error) {
	keep, err := choose.now(ctx, rs)
	if err != nil && !errors.Is(err, context.Canceled) {
		err = usageError(fmt.Errorf("--where: %w", err))
	}
	return keep, err
}

// many reports whether jobs that have ended are among those that the flags describe, and nothing but
// the records' own columns says which.
func (s *selection) many() bool {
	return len(s.ids) == 0 && s.given() && s.name+s.site+s.group == ""
}

// refreshedMany is refreshed of all jobs that the records' columns choose.
func refreshedMany(ctx context.Context, d *deps, s *session, sel selection) ([]*jobs.Outcome, error) {
	q, err := sel.query(d.env.Now())
	if err != nil {
		return nil, usageError(err)
	}
	rs, err := jobs.RefreshAll(ctx, s.jobs, q)
	if err := sayDamaged(d, err); err != nil {
		return nil, err
	}
	return asNow(ctx, d, rs, sel)
}

// refreshed asks the back-ends about the jobs, and then keeps those that are
// as the user described them.
func refreshed(ctx context.Context, d *deps, s *session, rs []*jobs.Outcome, sel selection) ([]*jobs.Outcome, error) {
	if err := s.jobs.Refresh(ctx, rs); err != nil {
		return nil, err
	}
	return asNow(ctx, d, rs, sel)
}

// asNow keeps the jobs that are as the user described them, now that back-ends have been asked. Errors of the others
// are reported here.
func asNow(ctx context.Context, d *deps, rs []*jobs.Outcome, sel selection) ([]*jobs.Outcome, error) {
	wanted, err := parseStates(sel.states)
	if err != nil {
		return nil, err
	}
	var keep, others []*jobs.Outcome
	for _, r := range rs {
		if len(wanted) == 0 || slices.Contains(wanted, r.State) {
			keep = append(keep, r)
		} else {
			others = append(others, r)
		}
	}
	report(d, others)
	choose, err := sel.chooser()
	if err != nil {
		return nil, usageError(err)
	}
	return nowOnly(ctx, keep, choose)
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
	known := make([]string, len(states))
	for i, st := range states {
		known[i] = string(st)
	}
	if near := classad.Nearest(strings.ToLower(s), known); near != "" {
		return "", fmt.Errorf("no such state: %s; did you mean %s?", s, near)
	}
	return "", fmt.Errorf("no such state: %s; there are %s", s, strings.Join(known, ", "))
}

// parseSince reads a length of time back from now, or a date with or without
// a time of day, in the local zone.
func parseSince(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if d, err := parseLength(s); err == nil {
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
func ids(d *deps, args []string) ([]string, error) {
	var ids []string
	for _, arg := range args {
		if arg != "-" {
			ids = append(ids, arg)
			continue
		}
		sc := bufio.NewScanner(d.env.In)
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

// confirm asks at a terminal before a verb that ends or removes jobs is let at jobs that were not named one by one.
func confirm(ctx context.Context, d *deps, verb string, sel selection, named bool, rs []*jobs.Outcome) error {
	n := len(rs)
	if verb == "cancel" { // which leaves those as they are that have ended
		n = len(slices.DeleteFunc(slices.Clone(rs), func(o *jobs.Outcome) bool { return o.Final() }))
	}
	if !sel.sure || sel.yes || named || n == 0 || !d.env.InTerminal {
		return nil
	}
	if agreed(ctx, d, fmt.Sprintf("%s %s", verb, counted(n, "job"))) {
		return nil
	}
	return &exitError{interruption(ctx), errors.New("nothing was done")}
}

// agreed asks a question at the terminal. Who interrupts it has said no.
func agreed(ctx context.Context, d *deps, question string) bool {
	say(d, d.env.Err, "%s? [y/N] ", question)
	yes := make(chan bool, 1)
	go func() {
		line, err := bufio.NewReader(d.env.In).ReadString('\n')
		answer := strings.ToLower(strings.TrimSpace(line))
		yes <- err == nil && (answer == "y" || answer == "yes")
	}()
	select {
	case said := <-yes:
		return said
	case <-ctx.Done():
		say(d, d.env.Err, "\n")
		return false
	}
}

// counted writes a number of things.
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
