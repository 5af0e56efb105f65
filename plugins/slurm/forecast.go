package slurm

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/plugins/remote"
	"gridbroker/rank"
)

var (
	_ plugins.Forecaster    = (*Backend)(nil)
	_ plugins.QueueLengther = (*Backend)(nil)
)

// Name implements plugins.Forecaster and plugins.QueueLengther.
func (b *Backend) Name() string { return "slurm" }

// horizon is how far ahead a planned start is believed: behind jobs without a
// time limit Slurm plans for the year 7130.
const horizon = 60 * 24 * time.Hour

// goodFor is how long a planned start is used: some passes of the backfill
// scheduler, which runs every 30 s by default and can take minutes.
const goodFor = 10 * time.Minute

// testsAtOnce bounds the sbatch --test-only at one cluster; each locks the
// controller for some milliseconds.
const testsAtOnce = 4

// maxSaid bounds what sbatch says of one job, in bytes.
const maxSaid = 16 << 10

// Forecast implements plugins.Forecaster for partitions reached directly:
// "sbatch --test-only" tells when the job would start if it were sent now.
// Nothing is queued. The start is an upper bound: Slurm counts with the time
// limits of the jobs ahead, not with how long they run.
func (b *Backend) Forecast(ctx context.Context, job *jdl.Job, rs []*glue.Resource) (map[string]rank.Forecast, error) {
	all := map[string]rank.Forecast{}
	var mu sync.Mutex
	var errs []error
	var g errgroup.Group
	g.SetLimit(testsAtOnce)
	for _, r := range rs {
		s := b.Direct(r, glue.InterfaceSlurm)
		req := plugins.Request{Job: job, Resource: r}
		// A partition that is down would get a start as if it were up, a
		// job over the limit one that never comes.
		if s == nil || r.Serving != glue.Production || tooLong(req) {
			continue
		}
		g.Go(func() error {
			f, ok, err := s.testOnly(ctx, req)
			mu.Lock()
			defer mu.Unlock()
			if ok {
				all[r.ID] = f
			}
			errs = append(errs, err)
			return nil
		})
	}
	g.Wait()
	return all, errors.Join(errs...)
}

// startsAt finds the planned start in what sbatch says:
// "sbatch: Job 98 to start at 1795239001 using 4 processors on nodes n6 in partition short".
var startsAt = regexp.MustCompile(`to start at (\S+) using`)

func (s *site) testOnly(ctx context.Context, req plugins.Request) (f rank.Forecast, ok bool, err error) {
	args, err := sbatchArgs(req, s.extra)
	if err != nil {
		return f, false, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.Options.Command, remote.ErrSlow)
	defer cancel()
	now := s.Options.Now()
	// sbatch answers on standard error, which the runner's verb turns round.
	out := &remote.Answer{Max: maxSaid}
	err = s.Runner(ctx, nil, out, "said", append([]string{"sbatch", "--test-only"}, append(args, "--wrap=true")...)...)
	if err != nil {
		if _, no := errors.AsType[*remote.ExitError](err); no {
			return f, false, nil // refused: no forecast, and no fault of the service
		}
		return f, false, s.Fail("sbatch --test-only", err)
	}
	f, ok = planned(out.String(), now)
	f.Source = s.URL
	return f, ok, nil
}

// planned reads a start; one beyond the horizon is none.
func planned(said string, now time.Time) (rank.Forecast, bool) {
	m := startsAt.FindStringSubmatch(said)
	if m == nil {
		return rank.Forecast{}, false
	}
	start := unix(m[1])
	if start.IsZero() || start.Sub(now) > horizon {
		return rank.Forecast{}, false
	}
	return rank.AtMost(now, now.Add(goodFor), start.Sub(now).Round(time.Second)), true
}

// QueueLengths implements plugins.QueueLengther for partitions reached
// directly: one squeue per cluster for the lengths of all its partitions. Slurm
// has no computing element before it that holds jobs back.
func (b *Backend) QueueLengths(ctx context.Context, rs []*glue.Resource) (map[string]rank.QueueLength, error) {
	about := map[*site][]*glue.Resource{}
	for _, r := range rs {
		if s := b.Direct(r, glue.InterfaceSlurm); s != nil {
			about[s] = append(about[s], r)
		}
	}
	all := map[string]rank.QueueLength{}
	var errs []error
	for s, partitions := range about {
		at := s.Options.Now()
		byQueue, err := s.lengths(ctx)
		if errs = append(errs, err); err != nil {
			continue
		}
		waiting := []int64{0} // in all of them: a list of each would be made, and added up, for each partition anew
		for _, n := range byQueue {
			waiting[0] += n
		}
		for _, r := range partitions {
			all[r.ID] = rank.QueueLength{Source: s.URL, LRMS: "slurm", At: at, Own: glue.Some(byQueue[r.Queue]), Lengths: waiting}
		}
	}
	return all, errors.Join(errs...)
}

// lengths counts the waiting jobs of every partition.
func (s *site) lengths(ctx context.Context) (map[string]int64, error) {
	byQueue := map[string]int64{}
	err := s.rows(ctx, sep, 2, func(f []string) error {
		if standsAside(f[1]) {
			return nil
		}
		for name := range strings.SplitSeq(f[0], ",") {
			if byQueue[name]++; len(byQueue) > maxQueues {
				return errTooMany
			}
		}
		return nil
	}, "squeue", "--all", "--noheader", "--array", "--states=PENDING", "--format="+columns("Pr"))
	return byQueue, err
}
