package htcondor

import (
	"context"
	"errors"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/rank"
)

var (
	_ plugins.Forecaster    = (*Backend)(nil)
	_ plugins.QueueLengther = (*Backend)(nil)
)

// Name implements plugins.Forecaster and plugins.QueueLengther.
func (b *Backend) Name() string { return "htcondor" }

// cycle is HTCondor's default time from one negotiation to the next
// (NEGOTIATOR_INTERVAL): a job that finds a free slot waits for it.
const cycle = time.Minute

// goodFor is how long a forecast is used.
const goodFor = 5 * time.Minute

// Forecast implements plugins.Forecaster for pools reached directly. HTCondor
// plans nothing; the wait is that of the jobs that started of late, at most a
// negotiation cycle where this very job has a free slot; where it has none, at
// least what the queue takes at the rate at which jobs ended of late.
func (b *Backend) Forecast(ctx context.Context, job *jdl.Job, rs []*glue.Resource) (map[string]rank.Forecast, error) {
	all := map[string]rank.Forecast{}
	var errs []error
	schedds := map[*site]ad{}
	for _, r := range rs {
		s := b.Direct(r, glue.InterfaceCondor, glue.InterfaceHTCondorCE)
		if s == nil {
			continue
		}
		slots, err := s.poolSlots(ctx)
		if _, read := schedds[s]; err == nil && !read {
			schedds[s], err = s.scheddAd(ctx)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		var kindred []slot
		for _, sl := range slots {
			if kind(sl) == r.Queue {
				kindred = append(kindred, sl)
			}
		}
		if f, ok := forecast(schedds[s], room(kindred, requestOf(job.Demand, "")), s.Options.Now()); ok {
			f.Source = s.URL
			all[r.ID] = f
		}
	}
	return all, errors.Join(errs...)
}

// longest is a wait beyond which nothing is told apart.
const longest = 10 * 365 * 24 * time.Hour

// forecast makes a wait of the schedd's statistics and the slots free for the job.
func forecast(schedd ad, free int64, now time.Time) (rank.Forecast, bool) {
	mean, known := meanWait(schedd)
	f := rank.Forecast{Made: now, GoodUntil: now.Add(goodFor)}
	if free > 0 {
		f.Median, f.High = cycle/2, cycle
		if known && mean < f.Median {
			f.Median = mean
		}
		return f, true
	}
	ended, lifetime := schedd.amount("RecentJobsCompleted"), schedd.amount("RecentStatsLifetime")
	waiting := schedd.amount("TotalIdleJobs") + schedd.amount("JobsUnmaterialized")
	drain := time.Duration(0)
	if ended > 0 && lifetime > 0 {
		drain = seconds(float64(waiting) * float64(lifetime) / float64(ended))
	}
	if !known && drain == 0 {
		return f, false
	}
	f.Median = min(max(mean, drain), longest)
	f.High = 3 * f.Median // waits behind a queue are about exponential: their 90 % quantile is 3.3 times the median
	return f, true
}

// QueueLengths implements plugins.QueueLengther for pools reached directly:
// the jobs that wait in the schedd, in one queue.
func (b *Backend) QueueLengths(ctx context.Context, rs []*glue.Resource) (map[string]rank.QueueLength, error) {
	all := map[string]rank.QueueLength{}
	schedds := map[*site]rank.QueueLength{}
	var errs []error
	for _, r := range rs {
		s := b.Direct(r, glue.InterfaceCondor, glue.InterfaceHTCondorCE)
		if s == nil {
			continue
		}
		q, ok := schedds[s]
		if !ok {
			schedd, err := s.scheddAd(ctx)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			waiting := schedd.amount("TotalIdleJobs") + schedd.amount("JobsUnmaterialized")
			q = rank.QueueLength{Source: s.URL, LRMS: "condor", At: s.Options.Now(), Own: glue.Some(waiting), Lengths: []int64{waiting}}
			schedds[s] = q
		}
		all[r.ID] = q
	}
	return all, errors.Join(errs...)
}
