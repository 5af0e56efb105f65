package jobs

import (
	"context"
	"strings"

	"gridbroker/plugins"
	"gridbroker/rank"
)

// verify looks whether the first jobs that end well at a resource not known to
// run jobs have left the files they were to leave, where they ran for less
// than a minute: what takes jobs and says "done" at once is a black hole, too.
// A job that left none has failed.
func verify(ctx context.Context, c *Controller, backend plugins.Submitter, os []*Outcome, got []plugins.Status) {
	l, ok := backend.(plugins.Lister)
	if !ok || c.Scouts == nil {
		return
	}
	var at []int
	var hs []plugins.Handle
	for i, o := range os[:min(len(os), len(got))] {
		st := &got[i]
		short := st.State == plugins.Done && st.ExitCode.Or(0) == 0 && !st.Started.IsZero() && st.Ended.Sub(st.Started) < rank.ProofRun
		if short && c.Scouts.doubts(o.Resource) {
			at, hs = append(at, i), append(hs, o.Handle)
		}
	}
	if len(hs) == 0 {
		return
	}
	for j, left := range l.List(ctx, hs) {
		job, err := os[at[j]].Job()
		if err != nil || left.Err != nil {
			continue // no verdict
		}
		if missing, nothing := plugins.LeftNothing(job, left.Files); nothing {
			st := &got[at[j]]
			st.State, st.Reason = plugins.Failed, "it ended with exit code 0 and left no "+strings.Join(missing, ", ")
		}
	}
}

// doubts reports whether the files of a job that ended well are to be looked
// at: a few times for a resource that is not proven.
func (s *Scouts) doubts(resource string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.trust(resource)
	if t.proven || t.verified >= s.jobs {
		return false
	}
	t.verified++
	return true
}
