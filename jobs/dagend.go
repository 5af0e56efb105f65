package jobs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gridbroker/plugins"
)

// last reports whether the job comes last in its DAG, after whatever ended however.
func (o *Outcome) last() bool {
	if len(o.After) == 0 || !strings.Contains(o.JDL, "FinalNode") { // most are not read
		return false
	}
	job, err := o.Job()
	return err == nil && job.Final
}

// aborts reports whether the job has ended with an exit code that ends its whole DAG.
func (o *Outcome) aborts() bool {
	code, ended := nodeCode(o.Record)
	if o.Parent == "" || !o.Final() || !ended || !strings.Contains(o.JDL, "AbortDAGOn") {
		return false
	}
	job, err := o.Job()
	return err == nil && slices.Contains(job.AbortOn, code)
}

// abort ends the DAGs in which a job has ended with an exit code for that: what was not
// sent fails, what is at a back-end is cancelled. The job that comes last runs all the
// same. Whoever follows does it again until it is done.
func (f *following) abort(ctx context.Context) error {
	why, err := f.aborted(ctx)
	if err != nil {
		return err
	}
	if len(why) == 0 {
		return nil
	}
	var waiting, under []*Outcome
	for _, o := range f.jobs {
		switch {
		case why[o.Parent] == "" || o.Final() && !o.MayRetry(f.now()) || o.last():
		case o.Final(), o.State == plugins.Intended:
			waiting = append(waiting, o)
		case o.Cancelled.IsZero() && o.Handle.ID != "":
			under = append(under, o)
		}
	}
	err = f.apply(ctx, waiting, func(r *Record) Event {
		switch {
		case !f.free(r):
			return nil
		case r.State == plugins.Intended:
			return Blocked{Why: why[r.Parent]}
		case r.Final() && r.State != plugins.Cancelled:
			return NotRetried{Why: why[r.Parent]}
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = f.apply(ctx, under, func(r *Record) Event {
		if r.Final() || !r.Cancelled.IsZero() {
			return nil
		}
		return CancelAsked{Why: why[r.Parent]}
	})
	if err != nil {
		return err
	}
	return f.Cancel(ctx, under)
}

// aborted tells, by DAG, why it is over: also where the job that ended it is not among
// those that are followed, since it was seen to end by somebody who only looked.
func (f *following) aborted(ctx context.Context) (map[string]string, error) {
	why, asked := map[string]string{}, map[string]bool{}
	see := func(os []*Outcome) {
		for _, o := range os {
			if o.aborts() && why[o.Parent] == "" {
				code, _ := nodeCode(o.Record)
				why[o.Parent] = fmt.Sprintf("the DAG was ended by job %s (%s): its exit code was %d", o.ID, o.Name, code)
			}
		}
	}
	see(f.jobs)
	for _, o := range f.jobs {
		if o.Parent == "" || o.Final() || asked[o.Parent] || why[o.Parent] != "" || !strings.Contains(o.JDL, "AbortedBy") {
			continue
		}
		asked[o.Parent] = true
		rs, err := f.Store.Select(ctx, Query{Parent: o.Parent})
		if err != nil {
			return nil, err
		}
		see(Outcomes(rs))
	}
	return why, nil
}
