package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gridbroker/forecast/wire"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
)

// launch sends a job ahead of its slot.
func (o outbox) launch(ctx context.Context, a action, j *Job, back plugins.Submitter, r *result) time.Duration {
	if j.State != Booked {
		return r.end(plugins.Refused, "it is not to be sent any more")
	}
	site, err := o.store.Site(ctx, j.Booking.Cluster)
	if err != nil {
		r.Said = err.Error()
		return 2 * time.Second
	}
	to, endpoint := o.conf.Clusters[j.Booking.Cluster], o.conf.siteOf(j.Booking)
	if j.Cancel {
		return r.end(plugins.Unavailable, "it was cancelled before it was sent")
	}
	if !j.Booking.Turn && j.Fallback != Stay && o.now().Unix() > j.Booking.From+int64(o.conf.Grace/time.Second) {
		r.Kind, r.Said, r.Late = plugins.Unavailable, "its slot went by before it could be sent", a.Attempts > 1
		return 0
	}
	job, err := j.description()
	if err != nil {
		return r.end(plugins.Invalid, err.Error())
	}
	done, err := o.unpack(ctx, j, job)
	switch {
	case errors.Is(err, ErrNoFile), errors.Is(err, errOtherKey):
		return r.end(plugins.Invalid, err.Error())
	case err != nil: // the database is away, or this disk is full: that says nothing of the job
		r.Said = err.Error()
		return 2 * time.Second
	}
	defer done()
	for _, features := range featuresOf(j.Booking, site) {
		job = job.InTags(features)
	}
	req := plugins.Request{ID: j.request(), Job: job, Endpoint: endpoint, Booking: o.ahead(j, to.way(site)),
		Resource: &glue.Resource{ID: j.Booking.Cluster, Name: j.Booking.Cluster, Queue: queueFor(to, site), Endpoints: []glue.Endpoint{endpoint}, RuntimeEnvironments: job.Demand.RuntimeEnvironments}}
	again := settle(back.Submit(ctx, []plugins.Request{req}, nil), r)
	if site.Start == wire.Reservation && r.Kind != 0 && r.Kind != plugins.Invalid && o.now().Unix() < j.Booking.From+int64(o.conf.Grace/time.Second) {
		r.Kind, r.untaken, again = 0, true, 2*time.Second // until the agent has reserved the nodes, the site refuses
	}
	return again
}

// featuresOf gives first the features that all nodes of a booking have, then those of each: a wish for versions becomes the
// highest one that all of them have, since a batch system that is asked for another one would choose other nodes.
func featuresOf(p *Place, site *wire.Site) [][]string {
	var lists [][]string
	for _, part := range p.Parts {
		at := slices.IndexFunc(site.Nodes, func(n wire.Node) bool { return n.Name == part.Node })
		if at >= 0 {
			lists = append(lists, site.Nodes[at].Features)
		}
	}
	if len(lists) == 0 {
		return nil
	}
	common := slices.Clone(lists[0])
	for _, other := range lists[1:] {
		common = slices.DeleteFunc(common, func(f string) bool { return !slices.Contains(other, f) })
	}
	return append([][]string{common}, lists...)
}

// queueFor is the queue that guests are sent to: the partition of guests where the site
// has one, what the operator of the scheduler has named, or the queue whose nodes and
// turns the agent tells of.
func queueFor(to ClusterConfig, site *wire.Site) string {
	if site.Start == wire.Partition && site.Partition != "" {
		return site.Partition
	}
	return cmp.Or(to.Queue, site.Queue)
}

// nice marks a guest for the site's own policy (Slurm's --nice).
const nice = 100

// ahead is what the site is told of the slot.
func (o outbox) ahead(j *Job, way wire.Way) *plugins.Booking {
	b := &plugins.Booking{Nice: nice}
	if j.Booking.Turn {
		return b
	}
	switch way {
	case wire.Begin, wire.Partition:
		b.Begin = max(0, time.Unix(j.Booking.From, 0).Sub(o.now()))
		if j.Fallback == Stay { // it waits there for as long as it takes
			break
		}
		b.Deadline = b.Begin + (time.Duration(j.Wall)*time.Second + time.Minute - 1).Truncate(time.Minute) + o.conf.Grace
	case wire.Reservation:
		b.Reservation = ReservationName(j.request())
	}
	return b
}

// ReservationName is what the agent calls what it reserves for a request.
func ReservationName(request string) string { return "gras_" + request }

// settle reads the outcome of a submission.
func settle(results []plugins.Result, r *result) time.Duration {
	if len(results) != 1 {
		r.Kind, r.Said = plugins.Uncertain, fmt.Sprintf("%d outcomes of one job", len(results))
		return 5 * time.Second
	}
	res := results[0]
	if res.Err == nil {
		r.Handle, r.Seconds = res.Handle, res.Took.Seconds()
		return 0
	}
	r.Said = res.Err.Error()
	e, ok := errors.AsType[*plugins.Error](res.Err)
	if !ok || e.Kind == plugins.Uncertain {
		return 5 * time.Second
	}
	r.Kind = e.Kind
	return 0
}

// find asks the site for a request whose outcome is not known. Back-ends that
// cannot look up are believed to have nothing.
func find(ctx context.Context, back plugins.Submitter, e glue.Endpoint, id string) (h plugins.Handle, found bool, err error) {
	f, can := back.(plugins.Finder)
	if !can {
		return h, false, nil
	}
	hs, err := f.Find(ctx, e, []string{id})
	h, found = hs[id]
	return h, found, err
}

// description is the job as it was handed in.
func (j *Job) description() (*jdl.Job, error) {
	job, err := j.read()
	if err != nil {
		return nil, err
	}
	return job, j.brought(job)
}

// unpack lays a job's files into a directory of their own, until it is done with.
func (o outbox) unpack(ctx context.Context, j *Job, job *jdl.Job) (done func(), err error) {
	if len(j.Inputs) == 0 {
		return func() {}, nil
	}
	dir, err := os.MkdirTemp(o.conf.Spool, "in-")
	if err != nil {
		return nil, err
	}
	done = func() { os.RemoveAll(dir) }
	for i := range job.InputSandbox {
		f := &job.InputSandbox[i]
		if f.IsURL() || f.Text != "" {
			continue
		}
		body, err := o.store.File(ctx, j.ID, "in", f.Name)
		if err == nil {
			f.Source = filepath.Join(dir, filepath.Base(f.Name))
			err = os.WriteFile(f.Source, body, 0o600)
		}
		if err != nil {
			done()
			return nil, fmt.Errorf("input file %s: %w", f.Name, err)
		}
	}
	return done, nil
}
