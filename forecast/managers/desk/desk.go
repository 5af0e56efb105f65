package desk

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"gridbroker/forecast/managers"
)

// Config is what a desk needs to know.
type Config struct {
	Manager  string                                // URL of its manager, at which others answer it as a broker
	Dir      string                                // where jobs and claims are kept
	HandIn   func([]managers.Job) error            // gives jobs to the manager
	Ended    func(manager string, job managers.ID) // tells a manager that a job's place is free
	Patience time.Duration                         // for who does not ask for a job, or claim its place
	Lease    time.Duration                         // a job of which no manager has told for so long is handed in again; 0: 20 s
	Priority int                                   // the greatest that a job of a user may have
	Log      *slog.Logger
}

// Desk is the broker of its users' jobs.
type Desk struct {
	config Config
	store  *store
	wake   chan struct{}
	over   chan struct{} // closed when the desk ends

	mu     sync.Mutex
	jobs   map[managers.ID]*job
	users  map[string]*account
	bytes  int
	mark   int64 // counts the places that jobs have got, above those of before
	shared pace

	waiters waiters // for news
}

// account is what a user has here.
type account struct {
	jobs  map[string]*job // by key
	bytes int
	news  int64 // the mark when a job got a place last
	last  int64 // when it was submitted, of the youngest job
}

// job is one of a user's. What is kept of it is written at once, the rest is learned again.
type job struct {
	ID        managers.ID        `json:"id"` // in the tree
	Subject   string             `json:"subject"`
	Key       string             `json:"key"` // its user's name for it
	Need      managers.Resources `json:"need"`
	Priority  int                `json:"priority,omitempty"`
	Submitted int64              `json:"submitted"`         // ms
	Claimed   *place             `json:"claimed,omitempty"` // where its user starts it
	Ended     int64              `json:"ended,omitempty"`   // ms; its user wants nothing more of it
	Gone      bool               `json:"gone,omitempty"`    // it was ended since nothing was heard of its user
	Heir      string             `json:"heir,omitempty"`    // the key of the job that has come for it, with its age

	offered *place    // granted, and not claimed yet
	since   time.Time // when that was
	news    int64     // the mark of that
	asked   time.Time // by its user, last
	heard   time.Time // of it, from a manager that lets it wait
	attempt int       // counts hand-ins
	age     int64     // as Submitted, that it should have in the tree
	enter   int64     // about the same, before those whose turns are later and that are there
	handed  int64     // that it has there; 0: it is not
}

// place is where a job may run.
type place struct {
	Manager string `json:"manager"`
	System  string `json:"system"`
}

// manager is whose place the job has; "": none.
func (j *job) manager() string {
	switch {
	case j.Claimed != nil:
		return j.Claimed.Manager
	case j.offered != nil:
		return j.offered.Manager
	}
	return ""
}

// size is about what a job takes, in bytes.
func (j *job) size() int { return len(j.Key) + len(j.Need.Tags) + jobBytes }

// What the desk keeps. Jobs that have ended count until they are forgotten, which is when others need their room.
const (
	jobBytes   = 512
	maxOfUser  = 10_000
	maxInAll   = 200_000
	userBytes  = 8 << 20
	allBytes   = 128 << 20
	keptEnded  = time.Hour
	keptUnseen = 30 * 24 * time.Hour // a job that nobody has asked for
)

// Open makes a desk of what its directory tells.
func Open(c Config) (*Desk, error) {
	if c.Lease <= 0 {
		c.Lease = 20 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	d := &Desk{config: c, wake: make(chan struct{}, 1), over: make(chan struct{}), jobs: map[managers.ID]*job{}, users: map[string]*account{}, mark: time.Now().UnixMilli()}
	var err error
	if d.store, err = openStore(c.Dir); err != nil {
		return nil, fmt.Errorf("the desk of users: %w", err)
	}
	list, err := d.store.load()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the desk of users: %w", err), d.store.close())
	}
	now := time.Now()
	for _, j := range list {
		j.attempt = int(now.UnixMilli()) // above those of before: a job is not handed in each millisecond
		if j.Claimed != nil {
			j.asked = now
		}
		d.add(j)
	}
	return d, nil
}

// treeID names a user's job in the tree: nobody gives a job the name of another's.
func treeID(subject, key string) managers.ID {
	sum := sha256.Sum256([]byte(subject))
	return managers.ID(fmt.Sprintf("%x-%s", sum[:16], key))
}

// add takes a job in; the mutex is held, or nobody else has the desk yet.
func (d *Desk) add(j *job) {
	a := d.users[j.Subject]
	if a == nil {
		a = &account{jobs: map[string]*job{}}
		d.users[j.Subject] = a
	}
	d.jobs[j.ID], a.jobs[j.Key] = j, j
	a.last, j.age, j.enter = max(a.last, j.Submitted), j.Submitted, j.Submitted
	a.bytes += j.size()
	d.bytes += j.size()
}

// forget removes jobs that nobody wants any more; the mutex is held.
func (d *Desk) forget(list []*job) {
	if len(list) == 0 {
		return
	}
	if err := d.store.drop(list); err != nil {
		d.config.Log.Error("jobs that have ended are not forgotten", "error", err)
		return
	}
	for _, j := range list {
		a := d.users[j.Subject]
		delete(d.jobs, j.ID)
		delete(a.jobs, j.Key)
		a.bytes -= j.size()
		d.bytes -= j.size()
		if len(a.jobs) == 0 {
			delete(d.users, j.Subject)
		}
	}
}

// Run hands jobs in and sees to what is due until the context ends.
func (d *Desk) Run(ctx context.Context) error {
	tick := time.NewTicker(max(50*time.Millisecond, min(d.config.Patience, d.config.Lease)/8))
	defer tick.Stop()
	defer close(d.over)
	for ctx.Err() == nil {
		d.see()
		select {
		case <-ctx.Done():
		case <-tick.C:
		case <-d.wake:
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.store.close()
}

// soon has what is due seen to at once.
func (d *Desk) soon() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}
