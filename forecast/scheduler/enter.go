package scheduler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// entering is one submission on its way into the queue.
type entering struct {
	ctx  context.Context
	who  Person
	list []Submission
	jobs []*Job // those that were refused are nil
	out  []Taken
	now  time.Time
	err  error
	done chan struct{} // closed when it is committed, or has failed
}

// entrance lets submissions into the database: those that come while others are
// committed are committed together, in one transaction. Each is answered when
// that is done, and not before.
type entrance struct {
	mu    sync.Mutex
	queue []*entering
	turn  chan struct{}   // of who writes
	known sync.Map        // users that have a budget
	kept  map[string]held // for users, as last counted; of who has the turn
}

// maxTogether bounds the submissions of one transaction, maxTogetherJobs their
// jobs, unless one alone has more.
const (
	maxTogether     = 64
	maxTogetherJobs = 2000
)

// pass waits until a submission is in. Who gets the turn writes for all that wait.
func (n *entrance) pass(ctx context.Context, s *Scheduler, e *entering) error {
	n.mu.Lock()
	n.queue = append(n.queue, e)
	n.mu.Unlock()
	for {
		select {
		case <-e.done:
			return e.err
		case <-ctx.Done():
			return n.leave(e)
		case n.turn <- struct{}{}:
			func() {
				defer func() { <-n.turn }()
				n.write(s, n.next())
			}()
		}
	}
}

// leave gives up a submission that waited for too long: it is known to be left out only
// where nobody has begun to write it.
func (n *entrance) leave(e *entering) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	before := len(n.queue)
	if n.queue = slices.DeleteFunc(n.queue, func(q *entering) bool { return q == e }); len(n.queue) < before {
		return e.ctx.Err()
	}
	select {
	case <-e.done:
		return e.err
	default:
		return fmt.Errorf("%w: %w", errUnsure, e.ctx.Err())
	}
}

// next takes some that wait, in the order in which they came. Whose submitter has gone
// stays out.
func (n *entrance) next() (group []*entering) {
	n.mu.Lock()
	defer n.mu.Unlock()
	jobs := 0
	for len(n.queue) > 0 && len(group) < maxTogether {
		e := n.queue[0]
		if jobs += len(e.list); len(group) > 0 && jobs > maxTogetherJobs {
			break
		}
		n.queue = n.queue[1:]
		if e.err = e.ctx.Err(); e.err != nil {
			close(e.done)
			continue
		}
		group = append(group, e)
	}
	return group
}

// write commits submissions. Where that fails for several, each is tried alone: one
// must not keep the others out.
func (n *entrance) write(s *Scheduler, group []*entering) {
	if len(group) == 0 {
		return
	}
	defer abandon(group)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(group[0].ctx), time.Minute)
	defer cancel()
	if len(group) == 1 {
		ctx = group[0].ctx
	}
	err := s.store.tx(ctx, func(h handle) error { return n.enter(ctx, s, h, group) })
	if err != nil && len(group) > 1 {
		for _, e := range group {
			n.write(s, []*entering{e})
		}
		return
	}
	for _, e := range group {
		if err == nil {
			n.known.Store(e.who.Subject, true)
			n.keep(e)
		}
		e.err = err
		close(e.done)
	}
}

// errAbandoned is the answer to those whose submission was among others when one of
// them made the program panic.
var errAbandoned = errors.New("the scheduler failed while it wrote the jobs down: ask whether they were taken, or submit again under the same keys")

// abandon answers those whose submissions were not seen through: others must not
// wait, nor look for a turn for ever, where writing panics for one.
func abandon(group []*entering) {
	for _, e := range group {
		select {
		case <-e.done:
		default:
			e.err = errAbandoned
			close(e.done)
		}
	}
}

// enter writes jobs, their files and the message to the leader.
func (n *entrance) enter(ctx context.Context, s *Scheduler, h handle, group []*entering) error {
	for _, e := range group {
		if _, known := n.known.Load(e.who.Subject); !known {
			if err := n.welcome(ctx, s, h, e.who, e.now); err != nil {
				return err
			}
		}
	}
	if err := n.room(ctx, s, h, group); err != nil {
		return err
	}
	var jobs []*Job
	for _, e := range group {
		jobs = append(jobs, slices.DeleteFunc(slices.Clone(e.jobs), func(j *Job) bool { return j == nil })...)
	}
	if len(jobs) == 0 {
		return nil
	}
	ids, err := h.queue.enter(ctx, jobs)
	if err != nil {
		return err
	}
	return n.entered(ctx, s, h, group, ids)
}

// earlier adds the ids of a submission's jobs that were taken earlier.
func (e *entering) earlier(ctx context.Context, q queue, ids map[named]string) error {
	var keys []string
	for _, j := range e.jobs {
		if j != nil && ids[named{j.Owner, j.Key}] == "" {
			keys = append(keys, j.Key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	known, err := q.before(ctx, e.who.Subject, keys)
	maps.Copy(ids, known)
	return err
}

// entered answers, and tells the leader of those that are new.
func (n *entrance) entered(ctx context.Context, s *Scheduler, h handle, group []*entering, ids map[named]string) error {
	var fresh []string
	var log []Entry
	for _, e := range group {
		if err := e.earlier(ctx, h.queue, ids); err != nil {
			return err
		}
		for i, j := range e.jobs {
			if j == nil {
				continue
			}
			e.out[i].ID = ids[named{j.Owner, j.Key}]
			if e.out[i].ID != j.ID {
				continue // taken before
			}
			fresh = append(fresh, j.ID)
			log = append(log, Entry{At: millis(e.now), Job: j.ID, Who: e.who.Subject, Event: "submitted", Said: j.Name})
			for _, f := range e.list[i].Files {
				if err := s.store.keepFile(ctx, h, j.ID, "in", f.Name, f.Body); err != nil {
					return err
				}
			}
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	if err := h.log.write(ctx, 0, log); err != nil {
		return err
	}
	h.wake()
	return h.mail.post(ctx, kindJob, "job/"+fresh[0], fresh)
}

// welcome gives a new user the usual budget.
func (n *entrance) welcome(ctx context.Context, s *Scheduler, h handle, who Person, now time.Time) error {
	_, known, err := h.accounts.given(ctx, who.Subject, false)
	if err != nil || known {
		return err
	}
	return grant(ctx, h.accounts, now.Unix(), who.Subject, s.conf.Budget, "first")
}
