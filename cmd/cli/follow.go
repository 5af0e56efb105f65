package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/broker/clock"
	"gridbroker/jobs"
)

// followLease is the name of the lease of the one process that follows all jobs of a state directory.
const followLease = "follow"

// followGarbage is how much of the memory in use, in percent, may be garbage: a follower stays for months, and does little.
const followGarbage = 50

type followOptions struct {
	planning
	once    bool
	install bool
	renew   time.Duration
	pause   time.Duration
	replan  time.Duration
	moves   int
	metrics string
}

func followCmd(d *deps) *cobra.Command {
	var f followOptions
	cmd := &cobra.Command{
		Use:   "follow",
		Short: "Follow all jobs while the terminal is closed",
		Long: `Follow drives all recorded jobs until it is stopped: it sends the nodes of a DAG
when those before them are done, the jobs that waited for scouts, and failed jobs
again as their retries allow; it fetches the output of jobs whose description
says AutoOutput = true, and keeps the credentials of jobs alive.

A job that has waited in a queue for half an hour (--replan) is planned anew, and
taken back and sent elsewhere where it is expected to end sooner by more than the
forecasts may be wrong by: once its back-end has said that it will not run.

There is one such process for a state directory. --install makes it a systemd
unit of the user that starts with the session, with the flags of the call and what
your environment says of credentials, configuration and records; it says so where
that ends with your session (loginctl enable-linger keeps it). --once does what is
due and ends, for cron, with the exit code that grid status would have: credentials are renewed where --renew has passed since that was
last done, or where the one at hand now lives longer. How many jobs there are in which state, and how its looks go, it tells
Prometheus at --metrics: to this machine alone unless that names another address.`,
		Example: `  grid follow &
  grid follow --install
  grid follow --once`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.seeded = cmd.Flags().Changed("seed")
			if f.install {
				return runFollowInstall(cmd.Context(), d, followArguments(d, cmd.Flags()))
			}
			return runFollow(cmd.Context(), d, f)
		},
	}
	f.register(cmd.Flags())
	cmd.Flags().BoolVar(&f.once, "once", false, "do what is due now, and end")
	cmd.Flags().BoolVar(&f.install, "install", false, "install and start a systemd unit of the user")
	lengthVar(cmd.Flags(), &f.renew, "renew", time.Hour, "how often credentials of jobs are renewed")
	lengthVar(cmd.Flags(), &f.replan, "replan", 30*time.Minute, "plan jobs anew that have waited in a queue for this `time`; 0: never")
	cmd.Flags().IntVar(&f.moves, "replan-moves", 2, "take one job back `N` times at most")
	metricsFlag(cmd, &f.metrics, followMetrics)
	lengthVar(cmd.Flags(), &f.pause, "pause", time.Minute, "the longest `time` between two looks")
	return cmd
}

// A follower is one run of grid follow.
type follower struct {
	*deps
	session *session
	flags   followOptions
	jobs    []*jobs.Outcome
	live    []*jobs.Record       // as they were last read
	last    []*jobs.Record       // those that had gone well of the last that were recorded
	renewed time.Time            // by this process; a passing one goes by what others have noted
	told    map[string]string    // what was said of a job last
	ended   map[string]time.Time // when a job was first seen to have ended
	owed    map[string]*owing    // outputs that are to come by themselves, by job
	began   time.Time            // of the look that is under way
	looked  time.Time            // when the look began at which records were looked through for these last
	heard   *jobs.Listener
	figures *followFigures
	thrift  thrift
}

func runFollow(ctx context.Context, d *deps, flags followOptions) error {
	switch {
	case flags.moves < 0:
		return usageError(fmt.Errorf("--replan-moves %d: say how often", flags.moves))
	case flags.pause <= 0: // it would look without end, and at nothing
		return usageError(errors.New("--pause: say a time above 0"))
	}
	s, err := openSession(d, flags.planning, needs{records: mustRecords, services: true, scouts: scouting{on: true, follow: true}})
	if err != nil {
		return err
	}
	defer s.close()
	if s.jobs.Store.Alive(followLease) {
		return errors.New("another grid follow is at work for " + stateDir(d, s.conf))
	}
	lease, err := s.jobs.Store.Lease(followLease)
	if err != nil {
		return err
	}
	defer lease.End()
	defer debug.SetGCPercent(debug.SetGCPercent(followGarbage))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	f := &follower{deps: d, session: s, flags: flags, told: map[string]string{}, ended: map[string]time.Time{},
		owed: map[string]*owing{}, heard: jobs.Listen(ctx, s.jobs), figures: newFollowFigures()}
	defer f.heard.End()
	if !flags.once {
		if err := serveMetrics(ctx, d, flags.metrics, followMetrics, f.figures.handler()); err != nil {
			return err
		}
	}
	defer jobs.Rest(s.jobs)
	return f.run(ctx)
}

// run looks again and again: soon while things change, seldom while they do not, and at once when another process has
// written to the records or a back-end has news.
func (f *follower) run(ctx context.Context) error {
	const shortest = 2 * time.Second
	pause := shortest
	for {
		f.began = f.env.Now()
		changed, err := f.pass(ctx)
		f.figures.passed(f.jobs, f.began, f.env.Now(), err)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			sayErr(f.deps, "%v", err)
		}
		if f.flags.once {
			return cmp.Or(err, outcomeOf(f.deps, f.jobs, jobErr)) // as of grid status --all
		}
		pause = min(f.flags.pause, pause*3/2)
		if changed {
			pause = shortest
		}
		if !f.sleep(ctx, pause, min(f.flags.pause, f.thrift.least(f.env.Now(), processorTime()))) {
			return nil
		}
	}
}

// sleep waits, and no longer than until the records have been written by somebody else, or there are news, but for the
// least time. False: it is time to end.
func (f *follower) sleep(ctx context.Context, pause, least time.Duration) bool {
	f.heard.About(f.jobs)
	before, began := f.written(), f.env.Now()
	breath := max(least, jobs.Breath(clock.Passed(f.began, began)))
	pause = max(pause, least)
	for left := pause; left > 0; left = pause - clock.Passed(began, f.env.Now()) {
		select {
		case <-ctx.Done():
			return false
		case <-f.heard.News():
			pause = min(pause, breath)
		case <-time.After(min(time.Second, left)):
		}
		if now := f.written(); now != before {
			before, pause = now, min(pause, least)
		}
	}
	return ctx.Err() == nil
}

// written is when the records were changed last.
func (f *follower) written() time.Time {
	var last time.Time
	for _, name := range []string{"jobs.db", "jobs.db-wal"} {
		if info, err := os.Stat(filepath.Join(stateDir(f.deps, f.session.conf), name)); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

// pass does what is due now. It reports whether any job has changed.
func (f *follower) pass(ctx context.Context) (changed bool, err error) {
	if err := f.takeUp(ctx); err != nil {
		return false, err
	}
	if len(f.jobs) == 0 {
		return false, f.fetch(ctx)
	}
	_, err = f.session.jobs.Step(ctx, f.jobs, jobs.Waiting{Discover: rediscover(f.deps, f.session, f.flags.discovery),
		Replan: jobs.Replanning{After: f.flags.replan, Moves: f.flags.moves}, Current: true, Thorough: f.flags.once})
	if err != nil {
		return false, err
	}
	changed = f.tell()
	return changed, cmp.Or(f.fetch(ctx), f.renew(ctx))
}

// bound sets how much memory may be taken for the live jobs, of which there may be thousands more than at the last look.
func (f *follower) bound(ctx context.Context) error {
	if f.env.Getenv("GOMEMLIMIT") != "" {
		return nil
	}
	n, err := f.session.jobs.Store.Count(ctx, jobs.Query{Live: true})
	if err != nil {
		return err
	}
	debug.SetMemoryLimit(followLimit(n, heapInUse()))
	return nil
}

// takeUp reads the live jobs anew, and keeps of those it had before the ones that it has just seen to have ended, however
// long ago they did: they may be tried again, and their output may be wanted.
func (f *follower) takeUp(ctx context.Context) error {
	if err := f.bound(ctx); err != nil {
		return err
	}
	live, err := f.session.jobs.Store.Select(ctx, jobs.Query{Live: true, Again: true, Had: f.live})
	if err = sayDamaged(f.deps, err); err != nil {
		return err
	}
	f.live = live
	had := map[string]*jobs.Outcome{}
	for _, o := range f.jobs {
		had[o.ID] = o
	}
	next := make([]*jobs.Outcome, 0, len(live))
	for _, r := range live {
		if o := had[r.ID]; o != nil {
			o.Record, o.Err = r, nil
			next = append(next, o)
			delete(had, r.ID)
			continue
		}
		next = append(next, jobs.Outcomes([]*jobs.Record{r})...)
	}
	f.jobs = append(next, f.justEnded(had)...)
	return nil
}

// justEnded are those of the jobs that are not live any more, and have not been for long.
func (f *follower) justEnded(had map[string]*jobs.Outcome) (just []*jobs.Outcome) {
	before, now := f.ended, f.env.Now()
	f.ended = map[string]time.Time{}
	for _, o := range f.jobs {
		if had[o.ID] == nil {
			continue
		}
		seen, known := before[o.ID]
		if !known {
			seen = now
		}
		if now.Sub(seen) < 2*f.flags.pause {
			f.ended[o.ID] = seen
			just = append(just, o)
		}
	}
	return just
}

// tell prints a line for each job that has changed.
func (f *follower) tell() (changed bool) {
	for _, o := range f.jobs {
		if now := line(o); now != f.told[o.ID] {
			f.told[o.ID], changed = now, true
			f.figures.changed(o)
			f.say(o, now)
		}
	}
	if len(f.told) > 2*len(f.jobs)+100 {
		f.told = map[string]string{}
		for _, o := range f.jobs {
			f.told[o.ID] = line(o)
		}
	}
	return changed
}

// say prints what has happened to a job.
func (f *follower) say(o *jobs.Outcome, text string) {
	if !f.json {
		sayOut(f.deps, "%s  %s  %s", f.env.Now().Format(time.DateTime), o.ID, text)
		return
	}
	if err := printJSON(f.deps, "follow", followDocument{jobsJSON([]*jobs.Outcome{o}).Jobs[0], text}); err != nil {
		sayErr(f.deps, "%v", err)
	}
}

// followed says whether somebody follows the jobs of this state directory.
func followed(s *session) bool {
	return s.jobs.Store != nil && s.jobs.Store.Alive(followLease)
}
