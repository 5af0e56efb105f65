package jobs

import (
	"errors"
	"time"

	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/rank"
)

// Outcome is a job in the hands of one call: its record as it was last read or
// written, and beside it what the call found out.
type Outcome struct {
	*Record
	Err   error    // what went wrong with the job in the last call about it
	Fresh bool     // its back-end answered, in this process
	Files []string // just brought

	planned time.Time // when it was last looked at whether it is better off elsewhere

	job    *jdl.Job                // read already, or nil
	ranked map[string]*rank.Ranked // of this process's plan, by resource
}

// Outcomes begins calls about jobs.
func Outcomes(rs []*Record) []*Outcome {
	os := make([]*Outcome, len(rs))
	for i, r := range rs {
		os[i] = &Outcome{Record: r}
	}
	return os
}

// Records are the records of outcomes.
func Records(os []*Outcome) []*Record {
	rs := make([]*Record, len(os))
	for i, o := range os {
		rs[i] = o.Record
	}
	return rs
}

// Asked reports whether State is fresh from the back-end.
func (o *Outcome) Asked() bool { return o.Fresh || o.Final() }

// Job reads the description, once.
func (o *Outcome) Job() (*jdl.Job, error) {
	if o.job == nil {
		job, err := o.Record.Job()
		if err != nil {
			return nil, err
		}
		o.job = job
	}
	return o.job, nil
}

// well are those nothing went wrong with.
func well(os []*Outcome) []*Outcome {
	out := os[:0:0]
	for _, o := range os {
		if o.Err == nil {
			out = append(out, o)
		}
	}
	return out
}

// errorsOf are the errors by the ids of the jobs.
func errorsOf(os []*Outcome) map[string]error {
	errs := make(map[string]error, len(os))
	for _, o := range os {
		errs[o.ID] = o.Err
	}
	return errs
}

// IsUncertain reports whether an error leaves open whether a request arrived.
func IsUncertain(err error) bool {
	e, ok := errors.AsType[*plugins.Error](err)
	return ok && e.Kind == plugins.Uncertain
}
