package scheduler

import (
	"cmp"
	"context"
	"slices"
)

// places are bookings in memory, of jobs that have not ended.
type places struct {
	ofJob map[string][]*place
	queue *lineup
}

// place is one of them.
type place struct {
	bookingRow
	over bool
}

// find is the booking of a job's request; nil: there is none.
func (p *places) find(job, request string) *place {
	for _, b := range p.ofJob[job] {
		if b.Key == request {
			return b
		}
	}
	return nil
}

// book implements bookings.
func (p *places) book(_ context.Context, rows []bookingRow, _ int64) error {
	for _, r := range rows {
		p.ofJob[r.Job] = append(p.ofJob[r.Job], &place{bookingRow: r})
	}
	return nil
}

// close implements bookings.
func (p *places) close(_ context.Context, rows []closedRow) error {
	for _, r := range rows {
		if b := p.find(r.job, r.Key); b != nil {
			b.over, b.Ends = true, r.Ends
		}
	}
	return nil
}

// of implements bookings.
func (p *places) of(_ context.Context, cluster string, now int64) ([]ongoing, error) {
	var here []*place
	for id, list := range p.ofJob {
		for _, b := range list {
			if b.Cluster == cluster && !b.over && b.Ends > now && p.queue.jobs[id] != nil {
				here = append(here, b)
			}
		}
	}
	slices.SortFunc(here, func(a, b *place) int { return cmp.Or(cmp.Compare(a.Begins, b.Begins), cmp.Compare(a.Key, b.Key)) })
	list := make([]ongoing, 0, len(here))
	for _, b := range here {
		list = append(list, ongoing{key: b.Key, ends: b.Ends, running: p.queue.jobs[b.Job].State == Running, body: &b.Body})
	}
	return list, nil
}

// remove implements bookings.
func (p *places) remove(_ context.Context, job string) error {
	delete(p.ofJob, job)
	return nil
}
