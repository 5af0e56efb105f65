package jobs

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"gridbroker/broker"
	"gridbroker/plugins"
	"gridbroker/rank"
)

// Replanning is when jobs that wait in a queue are taken back and sent elsewhere.
// The zero Replanning is never.
type Replanning struct {
	// After is how long a job has waited where it is before it is planned anew; 0:
	// it never is. After each move it is longer by as much.
	After time.Duration
	// Moves is how often one job is taken back at most; 0: twice.
	Moves int
	// AtOnce is how many jobs are planned anew at one look at most, those that have
	// waited longest first; 0: 100.
	AtOnce int
}

// What a job that is taken back must gain, beside the errors of both forecasts:
// so much of what is left to wait where it is, and so many seconds.
const (
	leastShare = 0.2
	leastGain  = 60.0
	sigmas     = 1.5 // of the difference of the forecasts
)

func (p Replanning) moves() int { return cmp.Or(p.Moves, 2) }

// due reports whether a job is to be planned anew now.
func (p Replanning) due(o *Outcome, now time.Time) bool {
	if p.After <= 0 || o.State != plugins.Queued || !o.Started.IsZero() || !o.Cancelled.IsZero() || o.Handle.ID == "" ||
		o.Moves >= p.moves() || o.Err != nil || !o.Fresh || o.NoRetry {
		return false
	}
	last := o.Submitted
	if o.planned.After(last) {
		last = o.planned.Add(p.After/4 - p.After*time.Duration(o.Moves+1)) // a quarter later
	}
	return !now.Before(last.Add(p.After * time.Duration(o.Moves+1)))
}

// estimate is an expected time to completion in seconds, with its standard deviation.
type estimate struct{ seconds, sigma float64 }

// gainOf is what a job that is moved is expected to gain, in seconds: 0 where that
// does not cover the errors of the forecasts.
func gainOf(stay, move estimate) float64 {
	gain := stay.seconds - move.seconds
	least := max(leastGain, leastShare*stay.seconds, sigmas*math.Hypot(stay.sigma, move.sigma))
	if math.IsNaN(gain) || math.IsInf(gain, 0) || gain < least {
		return 0
	}
	return gain
}

// stay is the expected time to completion of a job where it is. A newcomer would
// have to wait as long at least; and by what was foreseen when it was sent, what
// is left of that, with as large a part of it in error as of the newcomer's. Of one that should
// have ended by now, it is as long again as it has waited: what is late stays late.
func stay(r *Record, there *rank.Ranked, now time.Time) (estimate, bool) {
	waited := now.Sub(r.Submitted).Seconds()
	left := math.Inf(1)
	if r.Predicted > 0 {
		left = max(r.Predicted-waited, waited)
	}
	if there == nil {
		return estimate{seconds: left}, !math.IsInf(left, 1)
	}
	fresh, ok := broker.Parts(*there).Seconds()
	if !ok {
		return estimate{}, false
	}
	e := estimate{seconds: fresh, sigma: waitError(*there)}
	if left < fresh { // an error of hours is none of minutes
		e = estimate{seconds: left, sigma: e.sigma * left / fresh}
	}
	return e, true
}

// waitError is the standard deviation of an estimate without that of the run time:
// a job that runs longer than foreseen does so here and there.
func waitError(r rank.Ranked) float64 {
	left := r.Uncertainty * r.Uncertainty
	for _, t := range r.Terms {
		if t.Name == rank.TermRun {
			left -= t.Uncertainty * t.Uncertainty
		}
	}
	return math.Sqrt(max(0, left))
}

// replan takes jobs back that wait where others would run them sooner. Nothing is
// sent elsewhere before the back-end has said that the job will not run there;
// where that takes a while, a later step sends it.
func (f *following) replan(ctx context.Context) error {
	due := f.waitingLong()
	if len(due) == 0 {
		return nil
	}
	placed, err := f.place(ctx, due, f.Discover, placedBefore)
	if err != nil {
		return err
	}
	why := map[string]string{}
	var back []*Outcome
	for _, o := range due {
		if text := f.better(o, placed[o.ID]); text != "" {
			why[o.ID] = text
			back = append(back, o)
		}
	}
	err = f.apply(ctx, back, func(r *Record) Event {
		if r.State != plugins.Queued || !r.Cancelled.IsZero() || r.Attempts != placed[r.ID].attempts {
			return nil
		}
		return TakeBack{Why: why[r.ID]}
	})
	if err != nil {
		return err
	}
	err = f.each(well(back), func(backend plugins.Submitter, os []*Outcome) error {
		asked := os[:0:0]
		for i, err := range backend.Cancel(ctx, handles(os)) {
			if i < len(os) && err == nil { // of others it is not known: they are where they are
				asked = append(asked, os[i])
			}
		}
		if len(asked) == 0 {
			return nil
		}
		return refresh(ctx, f.Controller, backend, asked)
	})
	if err != nil {
		return err
	}
	return f.sendDue(ctx, slices.DeleteFunc(back, func(o *Outcome) bool { return o.State != plugins.Intended || o.Err != nil }))
}

// waitingLong lists the jobs to be planned anew, those first that have waited longest.
func (f *following) waitingLong() []*Outcome {
	now := f.now()
	var due []*Outcome
	for _, o := range f.jobs {
		if f.Replan.due(o, now) {
			due = append(due, o)
		}
	}
	slices.SortStableFunc(due, func(a, b *Outcome) int { return a.Submitted.Compare(b.Submitted) })
	due = due[:min(len(due), cmp.Or(f.Replan.AtOnce, 100))]
	for _, o := range due {
		o.planned = now
	}
	return due
}

// better says why a job is to be taken back; "": it stays. What is not known to run
// jobs is no place to move one to.
func (f *following) better(o *Outcome, p placing) string {
	if p.err != nil {
		return ""
	}
	known := slices.IndexFunc(p.ranked, func(r rank.Ranked) bool { return !r.Limit.On })
	if known < 0 {
		return ""
	}
	best := p.ranked[known]
	if best.Resource.ID == o.Resource || best.Endpoint.URL == o.Handle.Endpoint {
		return "" // where it is, or in the same batch system
	}
	var there *rank.Ranked
	for i := range p.ranked {
		if p.ranked[i].Resource.ID == o.Resource {
			there = &p.ranked[i]
		}
	}
	now, ok := stay(o.Record, there, f.now())
	move, said := broker.Parts(best).Seconds()
	if !ok || !said {
		return ""
	}
	gain := gainOf(now, estimate{seconds: move, sigma: waitError(best)})
	if gain == 0 {
		return ""
	}
	return fmt.Sprintf("has waited %s at %s; %s is expected to end it %s sooner", f.now().Sub(o.Submitted).Round(time.Second), o.At,
		best.Resource.Name, time.Duration(gain*float64(time.Second)).Round(time.Second))
}

// placedBefore are the resources that a job in a queue is kept away from: those it
// was at before, and not where it is.
func placedBefore(r *Record) []string {
	return slices.DeleteFunc(slices.Clone(r.Tried), func(id string) bool { return id == r.Resource })
}

// elsewhere puts what is not known to run jobs, and then where a job was taken back
// from, behind the other choices: it is left only for a place that takes the job.
func elsewhere(r *Record, cs []Choice) []Choice {
	n := len(r.Past)
	if r.TakenBack.IsZero() || n == 0 {
		return cs
	}
	from := r.Past[n-1].Resource
	last := func(c Choice) int {
		switch {
		case c.Resource == from:
			return 2
		case c.Unproven:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(cs, func(a, b Choice) int { return cmp.Compare(last(a), last(b)) })
	return cs
}
