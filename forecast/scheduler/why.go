package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gridbroker/forecast/scheduler/plan"
	"gridbroker/forecast/wire"
)

var errNoTrust = errors.New("this scheduler knows no certificate authorities: it takes no proxies")

// Reasons is why a job has no slot yet, or its turn in a site's queue has not come.
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
	now := s.now()
	if j.OnHold && j.State == Waiting {
		r.Text = []string{heldByOwner}
		return r, nil
	}
	if j.State != Waiting && !j.awaits() {
		var err error
		r.Text, err = placedWords(ctx, s.store, j, now)
		return r, err
	}
	p, err := s.picture(ctx, j, now)
	if err != nil {
		return r, err
	}
	if j.awaits() {
		r.Text = p.turnWords(j, now)
		return r, nil
	}
	if why := p.mem.expired(j, now.Unix()); why != nil {
		r.Text = []string{why.Error()}
		return r, nil
	}
	if text := p.mem.unfit(j); text != "" {
		r.Text = []string{text}
		return r, nil
	}
	in := p.in
	if slices.ContainsFunc(in.late, func(l *Job) bool { return l.ID == j.ID }) {
		r.Text = []string{isLate}
		return r, nil
	}
	for i, other := range in.of {
		if other.ID == j.ID && other.wish.unmet != "" {
			if r.Text = []string{other.wish.unmet}; j.Misses > 0 {
				r.Text = append(r.Text, missedWords(j))
			}
			return r, nil
		}
		if other.ID == j.ID {
			r.Counts = plan.Explain(in.jobs[i], in.slots, &in.rules)
		} else if other.State == Waiting && (other.Priority > j.Priority || other.Priority == j.Priority && other.Seq < j.Seq) {
			r.Ahead++
		}
	}
	r.Text = r.words(j, p.mem, now)
	return r, nil
}

// picture is a planning problem as the database had it a moment ago.
type picture struct {
	at  time.Time
	mem *memory
	in  *inputs
}

// fresh is for how long a picture serves all who ask: reading every slot for
// each question would cost the database more than planning does.
const fresh = 5 * time.Second

// picture is one that has the job, read anew where there is none so fresh. One
// is read at a time.
func (s *Scheduler) picture(ctx context.Context, j *Job, now time.Time) (*picture, error) {
	s.asking.Lock()
	defer s.asking.Unlock()
	if p := s.seen; p != nil && now.Sub(p.at) < fresh && !now.Before(p.at) {
		if have := p.mem.jobs.job(j.ID); have != nil && have.Priority == j.Priority && have.JDL == j.JDL {
			return p, nil
		}
	}
	p := &picture{at: now}
	err := s.store.read(ctx, func(h handle) (err error) {
		if p.mem, err = h.load(ctx, 0, s.conf, &arrivals{}); err != nil {
			return err
		}
		budgets, err := h.accounts.budgets(ctx, "")
		p.in = s.conf.problem(p.mem, now, budgets)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.seen = p
	time.AfterFunc(fresh, func() { // it may be large
		s.asking.Lock()
		defer s.asking.Unlock()
		if s.seen == p {
			s.seen = nil
		}
	})
	return p, nil
}

// words says it for people, the weightiest first.
func (r *Reasons) words(j *Job, m *memory, now time.Time) (list []string) {
	c := r.Counts
	add := func(yes bool, format string, args ...any) {
		if yes {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	add(c.NoBudget, "the budget does not suffice: it costs %.3f; see grid budget", float64(fee(j.Priority, j.Procs, j.Wall))/1000)
	add(c.Slots == 0, "no cluster offers any slot at present%s", m.closed(now.Unix()))
	add(r.Outlook != nil, "%s", outlookText(r.Outlook, now))
	add(c.Fit > 0, "%d of %d slots would do; %d jobs are ahead of it", c.Fit, c.Slots, r.Ahead)
	add(c.Later > 0, "%d slots begin later than this cycle books", c.Later)
	add(c.Priority > 0, "%d slots are of local jobs of higher priority", c.Priority)
	add(c.Owner > 0, "%d slots are free, but their owner's priority function gives it no priority above 0 there", c.Owner)
	add(c.Rights > 0, "%d slots are where it may not or cannot run", c.Rights)
	add(c.Short > 0, "%d slots are too short for its wall time of %v", c.Short, time.Duration(j.Wall)*time.Second)
	add(c.Small > 0, "%d slots have too few processors or too little memory", c.Small)
	add(c.Guest > 0, "%d slots are where guests may not run for so long", c.Guest)
	add(c.Stale > 0, "%d slots are of clusters that are drained or silent", c.Stale)
	add(j.Misses > 0, "%s", missedWords(j))
	return list
}

func missedWords(j *Job) string { return "it was booked before and not started: " + j.Reason }

// closed names some clusters that offer nothing, and why.
func (m *memory) closed(now int64) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(m.clusters)) {
		c := m.clusters[name]
		switch {
		case c.gone:
		case c.drained:
			list = append(list, name+" is drained")
		case !wire.Usable(c.made, c.ttl, now):
			list = append(list, name+" is silent")
		default:
			list = append(list, name+" has nothing free")
		}
	}
	if len(list) == 0 {
		return ""
	}
	if more := len(list) - maxClosed; more > 0 {
		list = append(list[:maxClosed], fmt.Sprintf("%d more", more))
	}
	return ": " + strings.Join(list, ", ")
}

const maxClosed = 5

func outlookText(p *Place, now time.Time) string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("it is likely to go to %s in %v, chance %.0f %%", p.Cluster, time.Duration(p.From-now.Unix())*time.Second, 100*p.Chance)
}

// How many of the waiting jobs are explained, how often, and at most how many
// slots are looked at for that.
const (
	explained   = 60
	explainWait = 15
	explainMost = 10_000_000
)

// explain notes of the first jobs without a slot what stands in their way, so
// that nobody has to ask. It is written where it changes.
func (w *work) explain(in *inputs, list []plan.Booking) {
	now := w.now.Unix()
	if now-w.mem.explained < explainWait {
		return
	}
	w.mem.explained = now
	placed := make([]bool, len(in.jobs))
	for _, b := range list {
		placed[b.Job] = true
	}
	left := min(explained, explainMost/max(1, len(in.slots)))
	for _, j := range in.late[:min(left, len(in.late))] {
		if j.Blocked != isLate && j.State == Waiting {
			j.Blocked = isLate
			w.change(j)
		}
	}
	for _, i := range in.rules.Order {
		j := in.of[i].Job
		if placed[i] {
			continue
		}
		if left--; left < 0 {
			return
		}
		if text := cmp.Or(w.mem.unfit(j), in.of[i].wish.unmet, blocked(plan.Hinder(&in.jobs[i], in.slots, &in.rules), j)); text != j.Blocked {
			j.Blocked = text
			w.change(j)
		}
	}
}

// isLate is said of a job that was not looked at because its owner's jobs take long.
const isLate = "the requirements of its owner's jobs take long to judge; a later cycle goes on with them"

// blocked is the weightiest reason in words that do not change with every slot.
func blocked(c plan.Why, j *Job) string {
	switch {
	case c.NoBudget:
		return "its owner's budget does not suffice"
	case c.Slots == 0:
		return "no cluster offers a slot"
	case c.Fit > 0 && j.Procs > 1:
		return "not enough processors come free together on one cluster"
	case c.Fit > 0:
		return "jobs ahead of it get the slots that would do"
	case c.Later > 0:
		return "what fits begins later than is booked now"
	}
	reasons := []struct {
		n    int
		text string
	}{
		{c.Short, "slots are too short for " + short(time.Duration(j.Wall)*time.Second)},
		{c.Small, "slots have too few processors or too little memory"},
		{c.Owner, "owners' functions give it no priority where slots are free"},
		{c.Priority, "local jobs outrank it"},
		{c.Guest, "guests may not run so long"},
		{c.Rights, "it may not or cannot run where slots are"},
		{c.Stale, "clusters with slots are drained or silent"},
	}
	best := reasons[0]
	for _, r := range reasons {
		if r.n > best.n {
			best = r
		}
	}
	return best.text
}
