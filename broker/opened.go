package broker

import (
	"cmp"
	"context"

	"gridbroker/glue"
	"gridbroker/jdl"
)

// Opened is how many resources would match a job if it were described otherwise
// and do not match it as it is, and to how many queues these belong.
func (b *Broker) Opened(ctx context.Context, job, otherwise *jdl.Job, rs []*glue.Resource) (more, queues int, err error) {
	p, err := b.Plan(ctx, []*jdl.Job{job, otherwise}, rs)
	if err != nil {
		return 0, 0, err
	}
	before := map[*glue.Resource]bool{}
	for _, r := range p.Jobs[0].Match.whole().Survivors {
		before[r] = true
	}
	names := map[string]bool{}
	for _, r := range p.Jobs[1].Match.whole().Survivors {
		if !before[r] {
			more++
			names[queueKey(r)] = true
		}
	}
	return more, len(names), nil
}

// queueKey is equal for the shares of one queue.
func queueKey(r *glue.Resource) string { return r.CE + "\x00" + cmp.Or(r.Queue, r.ID) }
