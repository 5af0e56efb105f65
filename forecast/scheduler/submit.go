package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"gridbroker/jdl"
)

// Person is who asks, as the door has found out.
type Person struct {
	Subject string
	VO      string
	FQANs   []string
	Admin   bool
	Sites   []string // clusters he speaks for
	Expires time.Time
}

// File is a small input file that comes with a job.
type File struct {
	Name string `json:"name" maxLength:"255"`
	Body []byte `json:"body"`
}

// Submission is one job to be taken in.
type Submission struct {
	Key      string   `json:"key" maxLength:"200" minLength:"1" doc:"the submitter's own name for it; the same key again is the same job"`
	JDL      string   `json:"jdl" maxLength:"1000000" doc:"the job's record (ClassAd)"`
	Priority float64  `json:"priority,omitempty" minimum:"0" maximum:"1000000" doc:"what each processor-hour costs; default: that of the description, or 1"`
	Fallback Fallback `json:"fallback,omitempty" enum:"replan,stay" doc:"what becomes of it when it is not in its slot in time"`
	Files    []File   `json:"files,omitempty" maxItems:"100"`
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
// answered with the same id.
func (s *Scheduler) Submit(ctx context.Context, who Person, list []Submission) ([]Taken, error) {
	now := s.now()
	out := make([]Taken, len(list))
	jobs := make([]*Job, len(list))
	for i := range list {
		out[i].Key = list[i].Key
		j, err := s.accept(who, &list[i], now)
		if err != nil {
			out[i].Error = err.Error()
			continue
		}
		jobs[i] = j
	}
	err := s.store.tx(ctx, func(h handle) error { return s.enter(ctx, h, who, list, jobs, out, now) })
	if err != nil {
		return nil, err
	}
	s.poke()
	return out, nil
}

// accept checks one submission.
func (s *Scheduler) accept(who Person, sub *Submission, now time.Time) (*Job, error) {
	j := &Job{ID: newID(now), Owner: who.Subject, Key: sub.Key, VO: who.VO, FQANs: who.FQANs, Priority: sub.Priority, Fallback: sub.Fallback,
		State: Waiting, Submitted: now.Unix()}
	if err := printable(sub.Key); err != nil {
		return nil, err
	}
	if math.IsNaN(j.Priority) || j.Priority < 0 || j.Priority > 1e6 {
		return nil, &RefusedError{fmt.Sprintf("a priority of %v: say 0 to 1000000", j.Priority)}
	}
	job, err := j.describe(sub.JDL)
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
	return j, j.brought(job)
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

// enter writes jobs, their files and the message to the leader.
func (s *Scheduler) enter(ctx context.Context, h handle, who Person, list []Submission, jobs []*Job, out []Taken, now time.Time) error {
	if err := s.welcome(ctx, h, who, now); err != nil {
		return err
	}
	if err := s.room(ctx, h, who, list, jobs, out); err != nil {
		return err
	}
	var rows []jobRow
	for _, j := range jobs {
		if j == nil {
			continue
		}
		row, err := rowOf(j)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil
	}
	if err := h.insertJobs(ctx, rows); err != nil {
		return err
	}
	return s.entered(ctx, h, who, list, jobs, out, now)
}

// insertJobs enters jobs; one whose owner has used its key before stays out.
func (h handle) insertJobs(ctx context.Context, rows []jobRow) error {
	_, err := h.each(ctx, `insert into queue (id, owner, key, state, body) select t.value->>'id', t.value->>'owner', t.value->>'key',
		t.value->>'state', cast(t.value->'body' as text) from {each} where true on conflict (owner, key) do nothing`, rows)
	return err
}

// entered finds out which of them are new.
func (s *Scheduler) entered(ctx context.Context, h handle, who Person, list []Submission, jobs []*Job, out []Taken, now time.Time) error {
	keys := make([]string, 0, len(list))
	for i := range list {
		keys = append(keys, list[i].Key)
	}
	ids := map[string]string{}
	text, err := jsonText(keys)
	if err != nil {
		return err
	}
	err = h.rows(ctx, func(scan func(...any) error) error {
		var key, id string
		err := scan(&key, &id)
		ids[key] = id
		return err
	}, "select key, id from queue where owner = $2 and key in (select t.value from {texts})", text, who.Subject)
	if err != nil {
		return err
	}
	var fresh []string
	var log []Entry
	for i, j := range jobs {
		if j == nil {
			continue
		}
		out[i].ID = ids[j.Key]
		if out[i].ID != j.ID {
			continue // taken before
		}
		fresh = append(fresh, j.ID)
		log = append(log, Entry{At: millis(now), Job: j.ID, Who: who.Subject, Event: "submitted", Said: j.Name})
		for _, f := range list[i].Files {
			if err := s.store.keepFile(ctx, h, j.ID, "in", f.Name, f.Body); err != nil {
				return err
			}
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	if err := h.writeLog(ctx, 0, log); err != nil {
		return err
	}
	if err := h.post(ctx, kindJob, "job/"+fresh[0], fresh); err != nil {
		return err
	}
	return h.wake(ctx)
}

// welcome gives a new user the usual budget.
func (s *Scheduler) welcome(ctx context.Context, h handle, who Person, now time.Time) error {
	known := false
	err := h.rows(ctx, func(scan func(...any) error) error { known = true; var n string; return scan(&n) }, "select name from person where name = $1", who.Subject)
	if err != nil || known {
		return err
	}
	return h.grant(ctx, now.Unix(), who.Subject, s.conf.Budget, "first")
}

// room holds a user to what the scheduler keeps for one.
func (s *Scheduler) room(ctx context.Context, h handle, who Person, list []Submission, jobs []*Job, out []Taken) error {
	var open, disk int64
	err := h.tx.QueryRowContext(ctx, h.d.words.Replace(
		"select count(*) from queue where owner = $1 and state not in ('done', 'failed', 'cancelled')"), who.Subject).Scan(&open)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(list, func(sub Submission) bool { return len(sub.Files) > 0 }) {
		err = h.tx.QueryRowContext(ctx, h.d.words.Replace(
			"select coalesce(sum(f.size), 0) from file f join queue q on q.id = f.job where q.owner = $1"), who.Subject).Scan(&disk)
		if err != nil {
			return err
		}
	}
	for i := range jobs {
		if jobs[i] == nil {
			continue
		}
		open++
		for _, f := range list[i].Files {
			disk += int64(len(f.Body))
		}
		why := ""
		if open > int64(s.conf.MaxJobs) {
			why = fmt.Sprintf("you have %d jobs that have not ended, and may have %d", open-1, s.conf.MaxJobs)
		} else if len(list[i].Files) > 0 && disk > s.conf.MaxDisk {
			why = fmt.Sprintf("your files at the scheduler would take %d bytes of %d: grid clean removes those of ended jobs", disk, s.conf.MaxDisk)
		}
		if why != "" {
			out[i].Error, jobs[i] = why, nil
		}
	}
	return nil
}

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
	text, err := jsonText(ids)
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
	text, err := jsonText(keys)
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
func (s *Scheduler) order(ctx context.Context, who Person, k kind, id, key string, body any) error {
	list, err := s.Jobs(ctx, who, []string{id})
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return ErrNoJob
	}
	if key == "" {
		key = newID(s.now())
	}
	err = s.store.tx(ctx, func(h handle) error {
		if err := h.post(ctx, k, string(k)+"/"+id+"/"+key, body); err != nil {
			return err
		}
		return h.wake(ctx)
	})
	s.poke()
	return err
}

// Cancel asks for a job to be ended.
func (s *Scheduler) Cancel(ctx context.Context, who Person, id string) error {
	return s.order(ctx, who, kindCancel, id, "", id)
}

// Forget removes a job that has ended and all that is kept of it.
func (s *Scheduler) Forget(ctx context.Context, who Person, id string) error {
	return s.order(ctx, who, kindForget, id, "", id)
}

// Refresh gives a waiting job another description or priority.
func (s *Scheduler) Refresh(ctx context.Context, who Person, id, text string, priority *float64) error {
	if priority != nil && (math.IsNaN(*priority) || *priority <= 0 || *priority > 1e6) {
		return &RefusedError{fmt.Sprintf("a priority of %v: say up to 1000000", *priority)}
	}
	list, err := s.Jobs(ctx, who, []string{id})
	if err != nil || len(list) == 0 {
		return cmp.Or(err, ErrNoJob)
	}
	if list[0].State != Waiting {
		return &RefusedError{fmt.Sprintf("job %s is %s: only one that waits in the global queue can be changed", id, list[0].State)}
	}
	if text != "" {
		job, err := (&Job{}).describe(text)
		if err != nil {
			return &RefusedError{err.Error()}
		}
		if err := list[0].brought(job); err != nil {
			return err
		}
	}
	return s.order(ctx, who, kindRefresh, id, "", refreshed{Job: id, Who: who.Subject, JDL: text, Priority: priority})
}
