package scheduler

import (
	"context"
	"strings"
	"time"

	"gridbroker/plugins"
)

// What a site keeps of a job is removed Config.KeepAtSites after its output was brought: until then a job that an older copy of
// the database does not know to have run is found there. Nobody waits for it, and the leader need not know.

// How often a site is asked to forget a job, and how long after it failed.
const (
	cleanTries = 5
	cleanAgain = 10 * time.Minute
)

// cleanAt has a site forget a job.
func cleanAt(ctx context.Context, a action, j *Job, back plugins.Submitter, r *result) time.Duration {
	c, can := back.(plugins.Cleaner)
	if !can {
		return 0
	}
	if err := c.Clean(ctx, []plugins.Handle{j.Handle})[0]; err != nil {
		r.Said = err.Error()
		if a.Attempts < cleanTries {
			return cleanAgain
		}
	}
	return 0
}

// cleaning is what follows an action that is done: the site of a job whose output was brought is to forget it when that is due; where it has, or
// never will, all is over, and who wanted the job forgotten has that.
func cleaning(ctx context.Context, h handle, a action, r result, due time.Time) (over bool, err error) {
	switch {
	case a.Verb == collect && r.cleanable:
		at := []actionRow{{string(clean) + strings.TrimPrefix(a.Key, string(collect)), a.Job, clean, due.Unix()}}
		return false, h.actions.add(ctx, at, 0)
	case a.Verb == forget:
		err = h.queue.remove(ctx, a.Job)
	}
	return a.Verb == clean || a.Verb == forget, err
}

// forgetAtSite has a job's site forget it now, where it still has it, and the table then.
func forgetAtSite(ctx context.Context, h handle, id string, now time.Time) error {
	there, err := h.actions.forget(ctx, id, now.Unix())
	if err == nil && !there {
		err = h.queue.remove(ctx, id)
	}
	return err
}

// noAction is what is said of an action that a replica's program does not know: one of a later version has asked for it.
const noAction = "no such action"

// cleanAnew has removed what a replica of a version that removes nothing at sites has taken up and closed. While such a one runs it may
// take up some of it again.
func cleanAnew(ctx context.Context, h handle, now int64) error {
	_, err := h.exec(ctx, "update action set done = 0, due = $1, attempts = 0, lease_until = 0 where done = 1 and verb in ($2, $3) and result = $4",
		now, string(clean), string(forget), noAction)
	return err
}
