package cli

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gridbroker/jobs"
	"gridbroker/plugins"
)

const (
	// lastEnded is how many of the jobs that were recorded last a follower looks through at every pass for those that
	// ended once more before it knew of that: sent anew, and seen by another command. At its first pass it looks through all.
	lastEnded = 500
	// longWrite is how much before a look a job may have been recorded that was not on disk yet when it looked.
	longWrite = time.Minute
	// owedAction marks, in the log of a job, that its output was refused and is not asked for again.
	owedAction = "no-output"
)

// owing is a job that went well and whose description wants its output brought, as it has not been.
type owing struct {
	job   *jobs.Outcome
	ended time.Time // the attempt is the one that ended then
	next  time.Time // when it is asked for again
	pause time.Duration
	said  string // what went wrong last
	given bool   // it was refused: it is not asked for again
}

// wantsOutput reports whether the output of a job is to be brought by itself.
func wantsOutput(r *jobs.Record) bool {
	if r.State != plugins.Done || r.Output != "" || !strings.Contains(strings.ToLower(r.JDL), "autooutput") {
		return false
	}
	job, err := r.Job()
	return err == nil && job.AutoOutput
}

// owe takes up the jobs whose output is wanted: those that it follows, and those that ended while nobody followed, or
// that another command has seen to end.
func (f *follower) owe(ctx context.Context) error {
	for _, o := range f.jobs {
		if wantsOutput(o.Record) {
			f.add(o)
		}
	}
	done, err := f.unseen(ctx)
	if err != nil {
		return err
	}
	for _, r := range done {
		if !wantsOutput(r) || f.known(r) {
			continue
		}
		refused, err := f.refused(ctx, r)
		if err != nil {
			return err
		}
		e := f.add(jobs.Outcomes([]*jobs.Record{r})[0])
		e.given = refused
	}
	return nil
}

// unseen are the jobs that may have gone well without this follower: all at its first look and where the clock was set back, else
// all that were recorded since the look before, and the last of the others.
func (f *follower) unseen(ctx context.Context) ([]*jobs.Record, error) {
	done := []plugins.State{plugins.Done}
	first := jobs.Query{States: done}
	last := jobs.Query{States: done, Backwards: true, Limit: lastEnded, Again: true, Had: f.last}
	now := f.env.Now()
	again := !f.looked.IsZero() && !now.Before(f.looked)
	if again {
		first.Made = f.looked.Add(-longWrite)
	}
	all, err := f.session.jobs.Store.Select(ctx, first)
	if err = sayDamaged(f.deps, err); err != nil {
		return nil, err
	}
	if again {
		f.last, err = f.session.jobs.Store.Select(ctx, last)
		if err = sayDamaged(f.deps, err); err != nil {
			return nil, err
		}
	}
	f.looked = f.began
	return append(all, f.last...), nil
}

// known reports whether this end of a job is taken up already.
func (f *follower) known(r *jobs.Record) bool {
	e := f.owed[r.ID]
	return e != nil && e.ended.Equal(r.Ended)
}

func (f *follower) add(o *jobs.Outcome) *owing {
	if !f.known(o.Record) {
		f.owed[o.ID] = &owing{job: o, ended: o.Ended}
	}
	return f.owed[o.ID]
}

// refused reports whether the log of a job says that its output was refused after it had ended.
func (f *follower) refused(ctx context.Context, r *jobs.Record) (bool, error) {
	log, err := f.session.jobs.Store.Log(ctx, r.ID)
	return slices.ContainsFunc(log, func(e jobs.Entry) bool { return e.Action == owedAction && !e.At.Before(r.Ended) }), err
}

// fetch brings the output of jobs that have ended and whose description asks for that, beside the looks.
func (f *follower) fetch(ctx context.Context) error {
	if err := f.owe(ctx); err != nil {
		return err
	}
	w := jobs.Wanted{Dir: filepath.Join(stateDir(f.deps, f.session.conf), "output")}
	ended := jobs.Bring(ctx, f.session.jobs, f.due(ctx), w)
	if f.flags.once {
		jobs.Rest(f.session.jobs)
		ended = append(ended, jobs.Bring(ctx, f.session.jobs, nil, w)...)
	}
	return f.settle(ctx, ended)
}

// due are the jobs whose output is asked for now. Of those that are asked for anew the records are read again: somebody
// may have fetched it, removed the job, or sent it once more.
func (f *follower) due(ctx context.Context) (due []*jobs.Outcome) {
	now := f.env.Now()
	for _, id := range slices.Sorted(maps.Keys(f.owed)) {
		e := f.owed[id]
		if e.given || now.Before(e.next) {
			continue
		}
		if e.said != "" {
			rs, err := f.session.jobs.Store.Find(ctx, []string{id})
			if _, gone := errors.AsType[*jobs.IDError](err); gone || err == nil && !wantsOutput(rs[0]) {
				delete(f.owed, id)
				continue
			}
		}
		due = append(due, e.job)
	}
	return due
}

// settle says what came of the outputs that were asked for. What was refused is not asked for again, what could not be
// had for another reason is: after five seconds, then longer, up to ten minutes.
func (f *follower) settle(ctx context.Context, ended []*jobs.Outcome) error {
	through := map[string]*jobs.Outcome{}
	var errs []error
	for _, o := range ended {
		through[o.ID] = o
		e := f.owed[o.ID]
		if o.Err == nil {
			delete(f.owed, o.ID)
			f.say(o, "output in "+o.Output)
			continue
		}
		if e == nil {
			continue
		}
		if o.Err.Error() == e.said {
			delete(through, o.ID)
		}
		e.said, e.pause = o.Err.Error(), min(max(5*time.Second, 2*e.pause), 10*time.Minute)
		e.next = f.env.Now().Add(e.pause)
		if refusal, ok := errors.AsType[*plugins.Error](o.Err); ok && (refusal.Kind == plugins.Refused || refusal.Kind == plugins.Invalid) {
			e.given = true
			errs = append(errs, f.session.jobs.Store.Note(ctx, []*jobs.Record{o.Record}, owedAction, func(*jobs.Record) string {
				return "not brought by itself: " + e.said
			}))
		}
	}
	for _, o := range f.jobs {
		if t := through[o.ID]; t != nil && t.Err == nil {
			o.Output = t.Output
		}
	}
	report(f.deps, slices.Collect(maps.Values(through)))
	return errors.Join(errs...)
}
