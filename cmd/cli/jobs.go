package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/broker"
	"gridbroker/credential"
	"gridbroker/jobs"
	"gridbroker/plugins"
	"gridbroker/plugins/history"
)

// openRecords opens the job records. What says where jobs are and where they
// are cancelled must not have been written by others.
func openRecords(d *deps, c config) (*jobs.SQLite, error) {
	dir, env := stateDir(d, c), credentialEnv(d)
	_, missing := os.Stat(dir)
	if err := errors.Join(credential.OwnedPlace(env, dir), credential.Owned(env, filepath.Join(dir, "jobs.db"))); err != nil {
		return nil, usageError(fmt.Errorf("job records: %w", err))
	}
	store, err := jobs.OpenStore(dir, d.env.Now)
	if err == nil && missing != nil { // somebody else may have made it a moment ago
		if err := credential.Owned(env, dir); err != nil {
			return nil, usageError(errors.Join(fmt.Errorf("job records: %w", err), store.Close()))
		}
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		err = fmt.Errorf("%w; --state-dir, or GRID_STATE_DIR, names another place for them", err)
	}
	return store, err
}

// openRecordsCopy opens a copy of records that cannot be written, and says so.
func openRecordsCopy(d *deps, c config, why error) (*jobs.SQLite, error) {
	store, err := jobs.OpenCopy(stateDir(d, c), d.env.Now)
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", why, err)
	}
	if _, err := os.Stat(filepath.Join(stateDir(d, c), "jobs.db")); errors.Is(err, fs.ErrNotExist) {
		sayErr(d, "%s: there are none in this one", why)
		return store, nil
	}
	sayErr(d, "%s: what is recorded is taken as it is: no state is asked for, and nothing is recorded", why)
	return store, nil
}

// openServices opens the services that are asked about resources. Without the
// registry of tasks (nil) everything works.
func openServices(d *deps, conf config, b *plugins.Registry, h *history.Registry, info []string) (broker.Services, error) {
	conf.Sources = slices.Concat(conf.Sources, info)
	services, err := newServices(d, conf, b, h)
	if err != nil {
		path, _ := configPath(d)
		return services, usageError(fmt.Errorf("%s: services: %w", path, err))
	}
	return services, nil
}

// lateHistory is the registry of tasks, opened when it is first wanted: looking
// at jobs that go on does not pay for it.
type lateHistory struct {
	deps *deps
	dir  string
	once sync.Once
	kept *history.Registry // nil: not open, or not to be used
}

// open gives nil where the registry cannot be used, which is said.
func (l *lateHistory) open() *history.Registry {
	l.once.Do(func() {
		h, err := history.Open(l.dir, l.deps.env.Now)
		if err != nil {
			sayErr(l.deps, "%s", err)
			return
		}
		l.kept = h
	})
	return l.kept
}

func (l *lateHistory) close() {
	if l.kept != nil {
		l.kept.Close()
	}
}

// Sent implements plugins.Recorder.
func (l *lateHistory) Sent(ctx context.Context, attempts []plugins.Attempt) error {
	if h := l.open(); h != nil {
		return h.Sent(ctx, attempts)
	}
	return nil
}

// Ended implements plugins.Recorder.
func (l *lateHistory) Ended(ctx context.Context, ends []plugins.End) error {
	if h := l.open(); h != nil {
		return h.Ended(ctx, ends)
	}
	return nil
}

// jobsVerb makes a verb about jobs of a command: its arguments are their ids.
func jobsVerb(d *deps, cmd *cobra.Command, sel *selection, run func(context.Context) error) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = cobra.ArbitraryArgs, completeIDs(d)
	cmd.RunE = func(cmd *cobra.Command, ids []string) error {
		sel.ids, sel.verb, sel.unfound = ids, cmd.Name(), new(bool)
		if err := sel.meant(d.env.Now()); err != nil {
			return usageError(err)
		}
		err := run(cmd.Context())
		if err == nil && *sel.unfound {
			return &exitError{exitPartial, errReported}
		}
		return err
	}
	return cmd
}

// withJobs does something with the jobs of a selection, in a session of its own.
func withJobs(ctx context.Context, d *deps, sel selection, do func(*session, []*jobs.Outcome) error) error {
	s, rs, err := openJobs(ctx, d, planning{}, sel, needs{})
	if err != nil {
		return err
	}
	defer s.close()
	return do(s, rs)
}

// sayNone says that there are no jobs where a verb would print nothing.
func sayNone(d *deps, rs []*jobs.Outcome) {
	if len(rs) == 0 && !d.json {
		sayErr(d, "no jobs")
	}
}

// sayNoneToPeople is sayNone of verbs that cron runs, which mails every word: at a terminal alone.
func sayNoneToPeople(d *deps, rs []*jobs.Outcome) {
	if d.env.ErrTerminal {
		sayNone(d, rs)
	}
}

// openJobs opens a session and selects jobs, asking the back-ends about them
// first where the verb wants that.
func openJobs(ctx context.Context, d *deps, p planning, sel selection, n needs) (*session, []*jobs.Outcome, error) {
	if sel.asking != never {
		warm(d) // a connection is likely to follow
	}
	n.records, n.reads, n.learns = mustRecords, sel.reads, n.learns || sel.asks()
	s, err := openSession(d, p, n)
	if err != nil {
		return nil, nil, err
	}
	rs, err := s.selected(ctx, d, sel)
	if err != nil {
		s.close()
		return nil, nil, err
	}
	return s, rs, nil
}

// selected are the jobs that a verb is about; what takes long is shown until the
// session is closed.
func (s *session) selected(ctx context.Context, d *deps, sel selection) ([]*jobs.Outcome, error) {
	asks := sel.asks() && !s.copied
	if asks && sel.many() {
		s.showProgress(d)
		rs, err := refreshedMany(ctx, d, s, sel)
		if err != nil {
			return nil, err
		}
		return rs, confirm(ctx, d, sel.verb, sel, false, rs)
	}
	rs, err := selectJobs(ctx, d, s.jobs.Store, sel.ids, sel, sel.live)
	if err != nil {
		return nil, err
	}
	s.showProgress(d)
	if asks {
		if rs, err = refreshed(ctx, d, s, rs, sel); err != nil {
			return nil, err
		}
	}
	return rs, confirm(ctx, d, sel.verb, sel, len(sel.ids) > 0, rs)
}

// showProgress shows what takes long until the session is closed.
func (s *session) showProgress(d *deps) {
	var stop func()
	s.jobs.Progress, stop = showProgress(d)
	s.ending = append(s.ending, stop)
}

// recordDocument is a job in JSON.
type recordDocument struct {
	*jobs.Record
	Fresh bool   `json:"fresh"` // the back-end was asked just now, or the job has ended
	Error string `json:"error,omitempty"`
}

type jobsDocument struct {
	Jobs []recordDocument `json:"jobs"`
	unfoundIDs
}

func jobsJSON(rs []*jobs.Outcome) jobsDocument {
	doc := jobsDocument{Jobs: []recordDocument{}}
	for _, r := range rs {
		d := recordDocument{Record: r.Record, Fresh: r.Asked()}
		if r.Err != nil {
			d.Error = r.Err.Error()
		}
		doc.Jobs = append(doc.Jobs, d)
	}
	return doc
}

func since(a *deps, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	if ahead := t.Sub(a.env.Now()); ahead >= time.Second { // the clock was set back
		return "in " + span(ahead)
	}
	return ago(a, t) + " ago"
}

// ran is the run time, so far or in all.
func ranText(d *deps, r *jobs.Outcome) string {
	switch {
	case r.WallTime > 0:
		return span(r.WallTime)
	case r.Started.IsZero():
		return ""
	case !r.Ended.IsZero():
		return span(r.Ended.Sub(r.Started))
	case r.State == plugins.Running:
		return span(ranSince(d.env.Now(), r))
	}
	return ""
}

// ranSince is for how long a job runs that began by the clock of where it runs: that may be another one than
// this machine's, and no job runs for longer than since it was sent, or for less than no time.
func ranSince(now time.Time, r *jobs.Outcome) time.Duration {
	ran := now.Sub(r.Started)
	if !r.Sent.IsZero() && !r.Adopted {
		ran = min(ran, now.Sub(r.Sent))
	}
	return max(0, ran)
}

func note(r *jobs.Outcome) string {
	switch {
	case r.Err != nil:
		return r.Err.Error()
	case !r.Cancelled.IsZero() && !r.Final():
		return "cancel requested"
	case r.Reason != "":
		return r.Reason
	}
	return scriptNote(r)
}

func stateText(d *deps, r *jobs.Outcome) string {
	text := string(r.State)
	switch {
	case r.State == plugins.Done && r.Failure(), r.State == plugins.Failed, r.State == plugins.Lost:
		return styled(d, red, text)
	case r.State == plugins.Done:
		return styled(d, green, text)
	case r.State == plugins.Submitting, r.State == plugins.Held, r.State == plugins.Cancelled:
		return styled(d, yellow, text)
	case r.State == plugins.Running:
		return styled(d, cyan, text)
	}
	return text
}

// outcome is the error of an operation on several jobs, already shown job by
// job: nil when all went well; uncertain when any is; partial when some did.
func outcomeOf(d *deps, rs []*jobs.Outcome, failed func(*jobs.Outcome) error) error {
	var first, uncertain, interrupted error
	bad := 0
	for _, r := range rs {
		err := failed(r)
		if err == nil {
			continue
		}
		bad++
		if first == nil {
			first = err
		}
		if jobs.IsUncertain(err) {
			uncertain = err
		}
		if errors.Is(err, context.Canceled) {
			interrupted = err
		}
	}
	switch {
	case bad == 0:
		return nil
	case uncertain != nil:
		return &exitError{exitUncertain, reported(uncertain)}
	case interrupted != nil:
		return interrupted
	case bad < len(rs):
		return &exitError{exitPartial, reported(first)}
	}
	return reported(first)
}

// report prints the errors of jobs on standard error.
func report(d *deps, rs []*jobs.Outcome) {
	reportBy(d, rs, func(r *jobs.Outcome) error { return jobError(d, r) })
}

// reportBy prints what is to be said of jobs on standard error: what differs
// in nothing but the job once, with their number.
func reportBy(d *deps, rs []*jobs.Outcome, say func(*jobs.Outcome) error) {
	if d.json {
		return
	}
	count := map[string]int{}
	first := map[string]string{}
	var order []string
	for _, r := range rs {
		err := say(r)
		if err == nil {
			continue
		}
		text := err.Error()
		like := trouble(err, r.ID)
		if count[like]++; count[like] == 1 {
			order = append(order, like)
			first[like] = text
		}
	}
	for _, like := range order {
		text := first[like]
		if n := count[like] - 1; n > 0 {
			text += fmt.Sprintf(" (and %s)", likewise(n))
		}
		sayErr(d, "%s", passage(text))
	}
}

// trouble is what errors have in common that are told once: their text but for the job's id, or that a disk is full,
// whichever file it did not take.
func trouble(err error, id string) string {
	for _, full := range []error{plugins.ErrNoRoom, syscall.ENOSPC, syscall.EDQUOT} {
		if errors.Is(err, full) {
			return full.Error()
		}
	}
	return strings.ReplaceAll(err.Error(), id, "\x00")
}

func likewise(n int) string {
	if n == 1 {
		return "another job likewise"
	}
	return fmt.Sprintf("%d more jobs likewise", n)
}

func jobErr(r *jobs.Outcome) error { return r.Err }
