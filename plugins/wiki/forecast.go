package wiki

import (
	"context"
	"errors"
	"slices"
	"time"

	"gridbroker/batch"
	"gridbroker/batch/maui"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/rank"
)

var (
	_ plugins.Forecaster    = (*backend)(nil)
	_ plugins.QueueLengther = (*backend)(nil)
)

// Name implements plugins.Forecaster and plugins.QueueLengther.
func (b *backend) Name() string { return "wiki" }

// horizon is how far ahead a start is believed, and goodFor for how long a
// forecast is used: some rounds of a scheduler.
const (
	horizon = 60 * 24 * time.Hour
	goodFor = 5 * time.Minute
)

// direct is the resource manager that published a resource; nil: none of ours.
func (b *backend) direct(r *glue.Resource) *site {
	for _, e := range r.Endpoints {
		if e.Interface == glue.InterfaceWIKI && r.Schema == "self" && r.Source == e.URL {
			if s, err := b.site(e.URL); err == nil {
				return s
			}
		}
	}
	return nil
}

// ask does something about each resource of ours with a recent reading of its
// resource manager. One that does not answer is asked once.
func (b *backend) ask(ctx context.Context, rs []*glue.Resource, do func(*site, *reading, *glue.Resource) error) error {
	read, failed := map[*site]*reading{}, map[*site]bool{}
	var errs []error
	for _, r := range rs {
		s := b.direct(r)
		if s == nil || failed[s] {
			continue
		}
		if read[s] == nil {
			got, err := s.recent(ctx)
			if err != nil {
				failed[s], errs = true, append(errs, err)
				continue
			}
			read[s] = got
		}
		if err := do(s, read[s], r); err != nil {
			failed[s], errs = true, append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Forecast implements plugins.Forecaster: the engine runs the cluster's queue
// forward by the configured policy, with the limits as run times, and the job
// behind it; so a start is rather too late than too early.
func (b *backend) Forecast(ctx context.Context, job *jdl.Job, rs []*glue.Resource) (map[string]rank.Forecast, error) {
	all := map[string]rank.Forecast{}
	err := b.ask(ctx, rs, func(s *site, at *reading, r *glue.Resource) error {
		f, err := at.forecast()
		if err != nil {
			return err
		}
		e, no := f.Ask(asked(job, r.Queue), 0)
		if wait := e.Start.Sub(f.At); no.Cause == "" && wait <= horizon {
			told := rank.AtMost(at.at, at.at.Add(goodFor), wait)
			told.Source = s.url
			all[r.ID] = told
		}
		return nil
	})
	return all, err
}

// asked is the job as the engine knows jobs.
func asked(job *jdl.Job, queue string) batch.Job {
	d := job.Demand
	return batch.Job{
		ID: "asked", Queue: queue, Procs: max(1, d.Slots), Nodes: d.Nodes, Memory: d.Memory, Disk: d.Disk, GPUs: d.GPUs,
		Features: d.RuntimeEnvironments, Requested: d.WallTime,
	}
}

// QueueLengths implements plugins.QueueLengther: how many jobs wait for each
// queue. WIKI knows no computing element that holds jobs back.
func (b *backend) QueueLengths(ctx context.Context, rs []*glue.Resource) (map[string]rank.QueueLength, error) {
	all, lists := map[string]rank.QueueLength{}, map[*reading][]*share{}
	err := b.ask(ctx, rs, func(s *site, at *reading, r *glue.Resource) error {
		if lists[at] == nil {
			list, err := sharesOf(at.nodes)
			if err != nil {
				return err
			}
			if err := count(list, at); err != nil {
				return err
			}
			lists[at] = list
		}
		q := rank.QueueLength{Source: s.url, LRMS: "maui", At: at.at, Lengths: []int64{at.waiting()}}
		if i := slices.IndexFunc(lists[at], func(sh *share) bool { return sh.queue == r.Queue }); i >= 0 {
			q.Own = glue.Some(lists[at][i].waiting)
		}
		all[r.ID] = q
		return nil
	})
	return all, err
}

// waiting is how many jobs wait, each counted once.
func (r *reading) waiting() (n int64) {
	for i := range r.jobs {
		if j := &r.jobs[i]; j.State == maui.JobIdle && !j.Gone && j.Begin <= r.at.Unix() {
			n++
		}
	}
	return n
}
