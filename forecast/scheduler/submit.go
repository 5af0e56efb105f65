package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gridbroker/jdl"
)

// Person is who asks, as the door has found out.
type Person struct {
	Subject string
	VO      string
	FQANs   []string
	Named   string // VO that he names, believed or not
	Doubt   string // why the VOMS attributes or groups that he shows do not count
	Admin   bool
	Sites   []string // clusters he speaks for
	Expires time.Time
	Vouched time.Time // until when VO and FQANs are good; zero: without end
	Browser bool      // signed in with one, and may only look
	Token   bool      // shows an issuer's token, good until Expires
}

// File is a small input file that comes with a job.
type File struct {
	Name string `json:"name" doc:"of at most 255 bytes"`
	Body []byte `json:"body"`
}

// Submission is one job to be taken in.
type Submission struct {
	Key      string   `json:"key" doc:"the submitter's own name for it, of 1 to 200 bytes; the same key again is the same job"`
	JDL      string   `json:"jdl" doc:"the job's record (ClassAd), of at most 1000000 bytes"`
	Priority float64  `json:"priority,omitempty" minimum:"0" maximum:"1000000" doc:"what each processor-hour costs; default: that of the description, or 1"`
	Fallback Fallback `json:"fallback,omitempty" enum:"replan,stay" doc:"what becomes of it when it is not in its slot in time"`
	Files    []File   `json:"files,omitempty" doc:"at most 100"`
}

// maxJDL bounds the description of a job, in bytes, and maxInputs the number of files that come with it. What is beyond is
// no fault of the request: the others of it are taken.
const (
	maxJDL    = 1_000_000
	maxInputs = 100
)

// bounded tells what of a submission is more than a scheduler takes.
func (sub *Submission) bounded() error {
	if n := len(sub.JDL); n > maxJDL {
		return &RefusedError{fmt.Sprintf("its description has %d bytes, the scheduler takes %d: let it read what is long from a file or a URL, or submit directly", n, maxJDL)}
	}
	if n := len(sub.Files); n > maxInputs {
		return &RefusedError{fmt.Sprintf("%d files come with it, the scheduler takes %d: pack them into one, name them by URL, or submit directly", n, maxInputs)}
	}
	return printable(sub.Key)
}

// Taken answers one Submission.
type Taken struct {
	Key   string `json:"key"`
	ID    string `json:"id,omitempty"`
	Error string `json:"error,omitempty" doc:"why it was refused"`
}

// RefusedError is a submission or request that cannot be.
type RefusedError struct{ Why string }

// Error implements error.
func (e *RefusedError) Error() string { return e.Why }

// Submit takes jobs into the queue. What was taken before under the same key is
// answered with the same id; of unlike jobs of one request that have one key the first is taken. It returns when they are committed.
func (s *Scheduler) Submit(ctx context.Context, who Person, list []Submission) ([]Taken, error) {
	now := s.now()
	e := &entering{ctx: ctx, who: who, list: list, out: make([]Taken, len(list)), jobs: make([]*Job, len(list)), now: now, done: make(chan struct{})}
	first := map[string]int{} // by key
	for i := range list {
		e.out[i].Key = list[i].Key
		j, err := s.accept(who, &list[i], now)
		if before, again := first[list[i].Key]; !again {
			first[list[i].Key] = i
		} else if err == nil && !reflect.DeepEqual(list[before], list[i]) {
			err = &RefusedError{"its key is that of another job of the same request"}
		}
		if err != nil {
			e.out[i].Error = err.Error()
			continue
		}
		e.jobs[i] = j
	}
	if err := s.entrance.pass(ctx, s, e); err != nil {
		return nil, err
	}
	s.poke()
	return e.out, nil
}

// accept checks one submission.
func (s *Scheduler) accept(who Person, sub *Submission, now time.Time) (*Job, error) {
	j := &Job{ID: newID(now, s.conf.Chance), Owner: who.Subject, Key: sub.Key, VO: who.VO, FQANs: who.FQANs, Named: who.Named, Priority: sub.Priority, Fallback: sub.Fallback,
		Lapses: !who.Vouched.IsZero() && len(names(who.VO, who.FQANs)) > 0, State: Waiting, Submitted: now.Unix()}
	if err := sub.bounded(); err != nil {
		return nil, err
	}
	if err := jdl.CheckPriority(j.Priority); err != nil && j.Priority != 0 {
		return nil, &RefusedError{err.Error()}
	}
	said, err := s.readings.read(sub.JDL)
	if err == nil {
		err = j.describe(said)
	}
	if e, ok := errors.AsType[*strangeError](err); ok && who.Doubt != "" {
		return nil, &RefusedError{e.Error() + ": " + who.Doubt}
	}
	if err != nil {
		return nil, &RefusedError{err.Error()}
	}
	if sub.Priority > 0 { // before what the description says
		j.Priority = sub.Priority
	}
	var size int64
	for _, f := range sub.Files {
		if err := plainName(f.Name); err != nil {
			return nil, err
		}
		size += int64(len(f.Body))
		j.Inputs = append(j.Inputs, f.Name)
	}
	if size > s.conf.MaxSandbox {
		return nil, &RefusedError{fmt.Sprintf("its input files have %d bytes, the scheduler takes %d: name them by URL, or submit directly", size, s.conf.MaxSandbox)}
	}
	if len(j.Inputs) == 0 { // in memory it is not read again
		j.parsed = said.job
	}
	return j, j.brought(said.job)
}

// brought tells which input file of the job is neither a URL nor came with it.
// Its path is one of the submitter's machine: here it would name a file of the
// scheduler's own.
func (j *Job) brought(job *jdl.Job) error {
	for _, f := range job.InputSandbox {
		if !f.IsURL() && f.Text == "" && !slices.Contains(j.Inputs, f.Name) {
			return &RefusedError{fmt.Sprintf("its input file %q did not come with it: send it along, or name it by URL", f.Name)}
		}
	}
	return nil
}

func printable(key string) error {
	if key == "" || len(key) > 200 || strings.ContainsFunc(key, unicode.IsControl) {
		return &RefusedError{"a key is one line of 1 to 200 bytes"}
	}
	return nil
}

func plainName(name string) error {
	if name == "" || len(name) > 255 || name == "." || name == ".." || strings.ContainsAny(name, "/\\") || strings.ContainsFunc(name, unicode.IsControl) {
		return &RefusedError{fmt.Sprintf("%q is no plain file name", name)}
	}
	return nil
}

// unheld tells text that no database holds, and nothing is named by.
func unheld(text string) bool { return !utf8.ValidString(text) || strings.ContainsRune(text, 0) }

// poke wakes the leader of this process.
func (s *Scheduler) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// ErrNoJob is a job that is not there, or not this user's: he is not told which.
var ErrNoJob = errors.New("no such job")

// Jobs reads jobs of a user by id; those that are not his are left out.
func (s *Scheduler) Jobs(ctx context.Context, who Person, ids []string) (list []*Job, err error) {
	text, err := jsonText(slices.DeleteFunc(slices.Clone(ids), unheld))
	if err != nil {
		return nil, err
	}
	err = s.store.read(ctx, func(h handle) error {
		list, err = h.jobs(ctx, "where id in (select t.value from {texts}) and (owner = $2 or $3 = 1) order by seq", text, who.Subject, b2i(who.Admin))
		return err
	})
	return list, err
}

// ByKey reads jobs of a user by his own names for them.
func (s *Scheduler) ByKey(ctx context.Context, who Person, keys []string) (list []*Job, err error) {
	text, err := jsonText(slices.DeleteFunc(slices.Clone(keys), unheld))
	if err != nil {
		return nil, err
	}
	err = s.store.read(ctx, func(h handle) error {
		list, err = h.jobs(ctx, "where owner = $2 and key in (select t.value from {texts}) order by seq", text, who.Subject)
		return err
	})
	return list, err
}

// List reads the jobs of a user (an administrator: of all), newest first.
func (s *Scheduler) List(ctx context.Context, who Person, all, open bool, before int64, limit int) (list []*Job, err error) {
	err = s.store.read(ctx, func(h handle) error {
		list, err = h.jobs(ctx, `where (owner = $1 or $2 = 1) and ($3 = 0 or state not in ('done', 'failed', 'cancelled'))
			and (seq < $4 or $4 = 0) order by seq desc limit $5`, who.Subject, b2i(all && who.Admin), b2i(open), before, limit)
		return err
	})
	return list, err
}

// order leaves a message about a job that is the user's.
func (s *Scheduler) order(ctx context.Context, who Person, k kind, id string, body any) error {
	there, err := orderEach(ctx, s, who, k, []string{id}, func(string) any { return body })
	if err == nil && !there[id] {
		err = ErrNoJob
	}
	return err
}

// ordersAtOnce is of how many jobs the orders are given in one transaction.
const ordersAtOnce = 100

// orderEach leaves a message about each of some jobs that are the user's, and tells which are.
func orderEach(ctx context.Context, s *Scheduler, who Person, k kind, ids []string, body func(id string) any) (there map[string]bool, err error) {
	defer s.poke()
	there = make(map[string]bool, len(ids))
	for some := range slices.Chunk(ids, ordersAtOnce) {
		list, err := s.Jobs(ctx, who, some)
		if err != nil {
			return nil, err
		}
		if err := orderTogether(ctx, s, who, k, list, body); err != nil {
			return nil, err
		}
		for _, j := range list {
			there[j.ID] = true
		}
	}
	return there, nil
}

// orderTogether does it in one transaction.
func orderTogether(ctx context.Context, s *Scheduler, who Person, k kind, list []*Job, body func(id string) any) error {
	if len(list) == 0 {
		return nil
	}
	return s.store.tx(ctx, func(h handle) error {
		var notes []Entry
		for _, j := range list {
			if err := h.mail.post(ctx, k, string(k)+"/"+j.ID+"/"+newID(s.now(), s.conf.Chance), body(j.ID)); err != nil {
				return err
			}
			if j.Owner != who.Subject && k == kindCancel { // the message does not tell
				notes = append(notes, Entry{At: s.now().UnixMilli(), Job: j.ID, Who: who.Subject, Event: "cancel", Said: "an administrator, " + who.Subject + ", wants it"})
			}
		}
		if err := h.log.write(ctx, 0, notes); err != nil {
			return err
		}
		h.wake()
		return nil
	})
}

// Cancel asks for a job to be ended.
func (s *Scheduler) Cancel(ctx context.Context, who Person, id string) error {
	return s.order(ctx, who, kindCancel, id, id)
}

// Forget removes a job that has ended and all that is kept of it.
func (s *Scheduler) Forget(ctx context.Context, who Person, id string) error {
	return s.order(ctx, who, kindForget, id, id)
}

// Refresh gives a waiting job another description or priority.
func (s *Scheduler) Refresh(ctx context.Context, who Person, id, text string, priority *float64) error {
	if priority != nil {
		if err := jdl.CheckPriority(*priority); err != nil {
			return &RefusedError{err.Error()}
		}
	}
	list, err := s.Jobs(ctx, who, []string{id})
	if err != nil || len(list) == 0 {
		return cmp.Or(err, ErrNoJob)
	}
	if list[0].State != Waiting {
		return &RefusedError{fmt.Sprintf("job %s is %s: only one that waits in the global queue can be changed", id, list[0].State)}
	}
	if text != "" {
		said, err := s.readings.read(text)
		if err == nil {
			err = (&Job{VO: list[0].VO, FQANs: list[0].FQANs}).describe(said)
		}
		if err != nil {
			return &RefusedError{err.Error()}
		}
		if err := list[0].brought(said.job); err != nil {
			return err
		}
	}
	return s.order(ctx, who, kindRefresh, id, refreshed{Job: id, Who: who.Subject, JDL: text, Priority: priority})
}
