package jobs

import (
	"cmp"
	"context"
	"time"
)

// Bring fetches the output of jobs beside the looks of Step, so that a large one holds nobody up: it waits a little, as most
// are here by then. It returns those, as copies, for which that has ended since the last call, with an Err where it failed.
// Jobs that are on their way are not begun anew. Rest waits for all.
func Bring(ctx context.Context, c *Controller, os []*Outcome, w Wanted) (ended []*Outcome) {
	away := c.bringing.away()
	var due []*Outcome
	for _, o := range os {
		if !away[o.ID] {
			due = append(due, o)
		}
	}
	if len(due) > 0 {
		if n := c.bringing.enter("", due, mostLanes); n != nil {
			go bring(ctx, c, n, w)
			awaitLane(ctx, n, c.Clock.After(laneWait))
		}
	}
	for _, n := range c.bringing.leave() {
		for _, o := range n.jobs {
			o.Err = cmp.Or(o.Err, n.err)
			ended = append(ended, o)
		}
	}
	return ended
}

// bring fetches what is on a lane.
func bring(ctx context.Context, c *Controller, n *lane, w Wanted) {
	defer close(n.through)
	_, n.err = c.Output(ctx, n.jobs, w)
}

// awaitLane waits until a lane is through, or it is enough.
func awaitLane(ctx context.Context, n *lane, enough <-chan time.Time) {
	select {
	case <-n.through:
	case <-enough:
	case <-ctx.Done():
	}
}
