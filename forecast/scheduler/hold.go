package scheduler

import "context"

// heldByOwner is why a job waits that its owner holds.
const heldByOwner = "its owner holds it"

// setHold keeps a user's jobs from being planned, or lets them be planned again, and tells which are his. One that is booked, or
// waits at a site, is taken back; what has begun runs on.
func setHold(ctx context.Context, s *Scheduler, who Person, ids []string, hold bool) (map[string]bool, error) {
	return orderEach(ctx, s, who, kindRefresh, ids, func(id string) any { return refreshed{Job: id, Who: who.Subject, Hold: &hold} })
}

// hold holds a job, or releases it. What has begun or ended stays as it is.
func (w news) hold(ctx context.Context, j *Job, r refreshed) error {
	if j == nil || j.Cancel || j.OnHold == *r.Hold || *r.Hold && j.State.begun() {
		return nil
	}
	j.OnHold = *r.Hold
	w.change(j)
	event := "released"
	if j.OnHold {
		event, j.Outlook = "held", nil
	}
	w.log = append(w.log, Entry{At: millis(w.now), Job: j.ID, Who: r.Who, Event: event})
	switch {
	case !j.OnHold:
	case j.State == Booked:
		unsent, err := w.unsend(ctx, j, "held")
		if unsent {
			j.State = Waiting
		}
		return err
	case j.State == Sent:
		w.takeBack(j)
	}
	return nil
}

// takeBack takes a job out of its site, unless it has started there.
func (w *work) takeBack(j *Job) {
	if j.Withdraw {
		return
	}
	j.Withdraw = true
	w.do(j, withdraw, w.now.Unix())
	w.change(j)
}

// begun tells whether a job has begun at its site.
func (s State) begun() bool { return s == Running || s == Collecting || s.Final() }
