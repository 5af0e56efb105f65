package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gridbroker/forecast/scheduler/plan"
)

var errNoTrust = errors.New("this scheduler knows no certificate authorities: it takes no proxies")

// Reasons is why a job has no slot yet.
type Reasons struct {
	State   State    `json:"state"`
	Ahead   int      `json:"ahead" doc:"jobs of as high a priority that came before"`
	Counts  plan.Why `json:"counts"`
	Booking *Place   `json:"booking,omitempty"`
	Outlook *Place   `json:"outlook,omitempty"`
	Text    []string `json:"text"`
}

// Why looks at every slot for a job, as the next cycle will.
func (s *Scheduler) Why(ctx context.Context, j *Job) (Reasons, error) {
	r := Reasons{State: j.State, Booking: j.Booking, Outlook: j.Outlook}
	if j.State != Waiting {
		r.Text = []string{fmt.Sprintf("the job is %s", j.State)}
		return r, nil
	}
	now := s.now()
	var in *inputs
	err := s.store.read(ctx, func(h handle) error {
		m, err := h.load(ctx, 0, s.conf)
		if err != nil {
			return err
		}
		budgets, err := h.budgets(ctx, "")
		in = s.problem(m, now, budgets)
		return err
	})
	if err != nil {
		return r, err
	}
	for i, other := range in.of {
		if other.ID == j.ID {
			r.Counts = plan.Explain(in.jobs[i], in.slots, &in.rules)
		} else if other.Priority > j.Priority || other.Priority == j.Priority && other.Seq < j.Seq {
			r.Ahead++
		}
	}
	r.Text = r.words(j, now)
	return r, nil
}

// words says it for people, the weightiest first.
func (r *Reasons) words(j *Job, now time.Time) (list []string) {
	c := r.Counts
	add := func(yes bool, format string, args ...any) {
		if yes {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	add(c.NoBudget, "the budget does not suffice: it costs %.3f; see grid budget", float64(fee(j.Priority, j.Procs, j.Wall))/1000)
	add(c.Slots == 0, "no cluster offers any slot at present")
	add(r.Outlook != nil, "%s", outlookText(r.Outlook, now))
	add(c.Fit > 0, "%d of %d slots would do; %d jobs are ahead of it", c.Fit, c.Slots, r.Ahead)
	add(c.Later > 0, "%d slots begin later than this cycle books", c.Later)
	add(c.Priority > 0, "%d slots are of local jobs of higher priority", c.Priority)
	add(c.Rights > 0, "%d slots are where it may not or cannot run", c.Rights)
	add(c.Short > 0, "%d slots are too short for its wall time of %v", c.Short, time.Duration(j.Wall)*time.Second)
	add(c.Small > 0, "%d slots have too few processors or too little memory", c.Small)
	add(c.Guest > 0, "%d slots are where guests may not run for so long", c.Guest)
	add(c.Stale > 0, "%d slots are of clusters that are drained or silent", c.Stale)
	add(j.Misses > 0, "it was booked before and not started: %s", j.Reason)
	return list
}

func outlookText(p *Place, now time.Time) string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("it is likely to go to %s in %v, chance %.0f %%", p.Cluster, time.Duration(p.From-now.Unix())*time.Second, 100*p.Chance)
}
