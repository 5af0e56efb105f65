package scheduler

import "context"

// Turns are a leader's rounds, one after the other, for a caller that keeps the
// time itself. Run does the same by the clock, at once.
type Turns struct {
	s     *Scheduler
	epoch int64
	sites follower
}

// NewTurns makes a replica the leader of its database: whoever led is deposed.
func NewTurns(ctx context.Context, s *Scheduler) (*Turns, error) {
	epoch, err := takeOver(ctx, s.store, s.conf.Name)
	if err != nil {
		return nil, err
	}
	s.setLead(epoch)
	return &Turns{s, epoch, newFollower(s)}, nil
}

// Take is one round: the sites are asked about their jobs, a cycle plans by what
// agents and sites have told, and what is due in the outbox is done. What became of
// that is taken in at once, as by a leader by the clock, who is woken for it; what is
// to be planned anew waits for the next round.
func (t *Turns) Take(ctx context.Context) error {
	if err := t.sites.round(ctx, nil, func(_ string, err error) error { return err }); err != nil {
		return err
	}
	if _, err := t.s.Cycle(ctx, t.epoch); err != nil {
		return err
	}
	done, err := t.act(ctx)
	if err == nil && done > 0 {
		_, err = cycle(ctx, t.s, t.epoch, false)
	}
	return err
}

// act does what is due in the outbox.
func (t *Turns) act(ctx context.Context) (done int, err error) {
	for {
		list, err := outbox{t.s}.claim(ctx, t.s.conf.Name, t.s.now(), actionsAtOnce)
		if err != nil {
			return done, err
		}
		for _, a := range list {
			outbox{t.s}.act(ctx, a)
		}
		done += len(list)
		if len(list) < actionsAtOnce { // what is done here makes nothing due
			return done, nil
		}
	}
}

// actionsAtOnce is how many actions of the outbox are leased at a time.
const actionsAtOnce = 1000
