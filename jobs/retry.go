package jobs

import (
	"slices"
	"time"

	"gridbroker/jdl"
	"gridbroker/plugins"
)

// retry says whether a job that failed may be sent again by its retry counts:
// before it ran by the shallow count, after by the deep one. A shallow count
// that is used up or off leaves the deep one. What is the job's own fault is
// not retried, and what ran to its end only where the job asks for it by exit
// code. After the job's ExpiryTime nothing is tried.
func retry(r *Record, job *jdl.Job, now time.Time) (shallow, ok bool) {
	switch {
	case !r.Cancelled.IsZero() || r.NoRetry || !job.Expiry.IsZero() && now.After(job.Expiry):
		return false, false
	}
	if code, ended := nodeCode(r); ended && slices.Contains(job.AbortOn, code) {
		return false, false // its whole DAG ends
	}
	script, byScript := failedScript(r)
	switch code := r.ExitCode; {
	case madeGood(r):
		return false, false
	case byScript:
		return false, (job.RetriesExit(script) || sitesFault(r)) && r.Retries < job.RetryCount
	case r.State == plugins.Done:
		ok = code != nil && *code != 0 && job.RetriesExit(*code)
	case r.State == plugins.Failed || r.State == plugins.Lost:
		ok = r.Fault != plugins.JobsFault
	}
	if ok && r.Started.IsZero() && r.Shallow < job.ShallowRetry {
		return true, true
	}
	return false, ok && r.Retries < job.RetryCount
}

// retry is that of the job as it was last read. A description that cannot be
// read any more is not sent again.
func (o *Outcome) retry(now time.Time) (shallow, ok bool) {
	if !o.Final() || o.State == plugins.Cancelled || o.State == plugins.Done && !o.Failure() {
		return false, false
	}
	job, err := o.Job()
	if err != nil {
		return false, false
	}
	return retry(o.Record, job, now)
}

// MayRetry reports whether the job has failed and will be sent again by the next
// Step, if a resource takes it.
func (o *Outcome) MayRetry(now time.Time) bool {
	_, ok := o.retry(now)
	return ok
}
