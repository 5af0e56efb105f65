package scheduler

import (
	"context"
	"errors"
	"fmt"
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
	if h.scratch != nil { // which has room
		return n.entered(ctx, s, h, group, h.scratch.enter(group))
	}
	if err := n.room(ctx, s, h, group); err != nil {
		return err
	}
	var rows []jobRow
	for _, e := range group {
		for _, j := range e.jobs {
			if j == nil {
				continue
			}
			row, err := rowOf(j)
			if err != nil {
				return err
			}
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	ids, err := register{h}.insertJobs(ctx, rows)
	if err != nil {
		return err
	}
	return n.entered(ctx, s, h, group, ids)
}

// register is a transaction that enters jobs into the queue.
type register struct{ handle }

// named is a job by its owner's name for it.
type named struct{ owner, key string }

// insertJobs enters jobs and gives the ids of those that are new; one whose owner
// has used its key before stays out.
func (h register) insertJobs(ctx context.Context, rows []jobRow) (map[named]string, error) {
	text, err := jsonText(rows)
	if err != nil {
		return nil, err
	}
	ids := make(map[named]string, len(rows))
	err = h.rows(ctx, func(scan func(...any) error) error {
		var of named
		var id string
		err := scan(&of.owner, &of.key, &id)
		ids[of] = id
		return err
	}, `insert into queue (id, owner, key, state, body) select t.value->>'id', t.value->>'owner', t.value->>'key',
		t.value->>'state', cast(t.value->'body' as text) from {each} where true on conflict (owner, key) do nothing returning owner, key, id`, text)
	return ids, err
}

// before finds the ids of jobs that were taken earlier.
func (h register) before(ctx context.Context, e *entering, ids map[named]string) error {
	var keys []string
	for _, j := range e.jobs {
		if j != nil && ids[named{j.Owner, j.Key}] == "" {
			keys = append(keys, j.Key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	if h.scratch != nil {
		for _, key := range keys {
			of := named{e.who.Subject, key}
			ids[of] = h.scratch.ids[of]
		}
		return nil
	}
	text, err := jsonText(keys)
	if err != nil {
		return err
	}
	return h.rows(ctx, func(scan func(...any) error) error {
		of, id := named{owner: e.who.Subject}, ""
		err := scan(&of.key, &id)
		ids[of] = id
		return err
	}, "select key, id from queue where owner = $2 and key in (select t.value from {texts})", text, e.who.Subject)
}

// entered answers, and tells the leader of those that are new.
func (n *entrance) entered(ctx context.Context, s *Scheduler, h handle, group []*entering, ids map[named]string) error {
	var fresh []string
	var log []Entry
	for _, e := range group {
		if err := (register{h}).before(ctx, e, ids); err != nil {
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
	if err := h.writeLog(ctx, 0, log); err != nil {
		return err
	}
	h.wake()
	return h.post(ctx, kindJob, "job/"+fresh[0], fresh)
}

// welcome gives a new user the usual budget.
func (n *entrance) welcome(ctx context.Context, s *Scheduler, h handle, who Person, now time.Time) error {
	_, known, err := h.accounts.given(ctx, who.Subject, false)
	if err != nil || known {
		return err
	}
	return grant(ctx, h.accounts, now.Unix(), who.Subject, s.conf.Budget, "first")
}
