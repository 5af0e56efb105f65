package scheduler

import (
	"context"
	"database/sql"
	"errors"

	"gridbroker/durable/sqlite"
)

// scratch is a database that nobody needs afterwards, of one process whose one scheduler leads
// for ever. What that has in memory anyway, and what would only be shown, is not written.
type scratch struct {
	db *sql.DB
	h  handle // the one transaction
	// entrusted is whether it was ever given a credential.
	entrusted bool
	// broken is why the transaction is half done; nil: it is not.
	broken error
	mail   []message // what waits for the leader
	keys   map[string]bool
	fresh  map[string]*Job  // those that were handed in and that the leader has not heard of
	seq    int64            // of the last of them
	ids    map[named]string // of those that have not ended
	// actions is its outbox, stands what it has of clusters.
	actions *pending
	stands  map[string]*stand
	purses  *purses
}

// OpenScratch makes a database in a file that nobody needs afterwards: of one connection and, as
// nothing is ever to be taken back, of one transaction that never ends. Once anything
// has failed in it, everything does. It is for one goroutine at a time.
func OpenScratch(ctx context.Context, path string, seal *Seal) (*Store, error) {
	s, err := openFile(path, sqlite.Off, seal)
	if err != nil {
		return nil, err
	}
	s.db.SetMaxOpenConns(1)
	if err = s.Migrate(ctx); err == nil {
		s.scratch = &scratch{keys: map[string]bool{}, fresh: map[string]*Job{}, ids: map[named]string{}, stands: map[string]*stand{},
			actions: &pending{ofJob: map[string][]*entry{}}, purses: &purses{map[string]float64{}, map[string]int64{}, map[string][]ledgerRow{}}}
		err = s.scratch.begin(ctx, s)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.ways = s.scratch
	return s, nil
}

// begin begins the transaction.
func (s *scratch) begin(ctx context.Context, of *Store) error {
	tx, err := of.db.BeginTx(context.WithoutCancel(ctx), nil) // the end of a context would end it
	// each statement would watch its context, at the price of a statement
	s.db, s.h = of.db, handle{statements: &statements{tx: tx, d: &of.d, under: context.WithoutCancel}, actions: s.actions, accounts: s.purses, scratch: s, bare: true}
	return err
}

// write implements transactions.
func (s *scratch) write(_ context.Context, f func(handle) error) error {
	if s.broken == nil {
		s.broken = f(s.h)
	}
	return s.broken
}

// read implements transactions.
func (s *scratch) read(_ context.Context, f func(handle) error) error { return f(s.h) }

// close implements transactions.
func (s *scratch) close() error { return errors.Join(s.h.tx.Commit(), s.db.Close()) }

// post leaves a message; one with a key that is there already is left out.
func (s *scratch) post(k kind, key string, body any) {
	if !s.keys[key] {
		s.keys[key] = true
		s.mail = append(s.mail, message{kind: k, key: key, said: body})
	}
}

// take takes the oldest messages.
func (s *scratch) take(limit int) []message {
	n := min(limit, len(s.mail))
	list := s.mail[:n:n]
	if s.mail = s.mail[n:]; len(s.mail) == 0 {
		s.mail = nil
	}
	for _, m := range list {
		delete(s.keys, m.key)
	}
	return list
}

// trust notes that the database is given a credential.
func (s *scratch) trust() {
	if s != nil { // which is for one goroutine
		s.entrusted, s.h.bare = true, false
	}
}

// enter keeps jobs for the leader and gives the ids of those that are new.
func (s *scratch) enter(group []*entering) map[named]string {
	ids := map[named]string{}
	for _, e := range group {
		for _, j := range e.jobs {
			if j == nil || s.ids[named{j.Owner, j.Key}] != "" {
				continue
			}
			s.seq++
			j.Seq = s.seq
			s.fresh[j.ID] = j
			of := named{j.Owner, j.Key}
			ids[of], s.ids[of] = j.ID, j.ID
		}
	}
	return ids
}

// leave forgets those of some jobs that have ended.
func (s *scratch) leave(some map[string]*Job) {
	if s == nil {
		return
	}
	for id, j := range some {
		if j.State.Final() {
			delete(s.ids, named{j.Owner, j.Key})
			s.actions.leave(id)
			delete(s.purses.deals, id)
		}
	}
}
