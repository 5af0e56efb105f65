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
		s.scratch = &scratch{keys: map[string]bool{}}
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
	q := &statements{tx: tx, d: &of.d, under: context.WithoutCancel}
	jobs := &lineup{jobs: map[string]*Job{}, ids: map[named]string{}, of: map[string]int64{}, kept: q}
	places := &places{ofJob: map[string][]*place{}, queue: jobs}
	actions := &pending{ofJob: map[string][]*entry{}, places: places}
	accounts := &purses{map[string]float64{}, map[string]int64{}, map[string][]ledgerRow{}}
	jobs.left = func(id string) {
		delete(places.ofJob, id)
		delete(actions.ofJob, id)
		delete(accounts.deals, id)
	}
	s.db, s.h = of.db, handle{statements: q, actions: actions, accounts: accounts, queue: jobs, bookings: places, clusters: stands{}, scratch: s, bare: true}
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
