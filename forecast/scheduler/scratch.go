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
	// broken is why the transaction is half done; nil: it is not.
	broken error
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
	if _, err = s.Migrate(ctx); err == nil {
		err = beginScratch(ctx, s)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// beginScratch begins the one transaction of a store, whose parts are in memory.
func beginScratch(ctx context.Context, of *Store) error {
	tx, err := of.db.BeginTx(context.WithoutCancel(ctx), nil) // the end of a context would end it
	if err != nil {
		return err
	}
	// each statement would watch its context, at the price of a statement
	q := &statements{tx: tx, d: &of.d, under: context.WithoutCancel}
	jobs := &lineup{jobs: map[string]*Job{}, ids: map[named]string{}, of: map[string]int64{}, kept: q}
	places := &places{ofJob: map[string][]*place{}, queue: jobs}
	actions := &pending{ofJob: map[string][]*entry{}, places: places}
	accounts := &purses{map[string]float64{}, map[string]int64{}, map[string][]ledgerRow{}}
	box := &mailbox{keys: map[string]bool{}}
	purse := &unused{wallet: walletTable{q}}
	jobs.left = func(id string) {
		delete(places.ofJob, id)
		delete(actions.ofJob, id)
		delete(accounts.deals, id)
	}
	of.ways = &scratch{db: of.db, h: handle{statements: q, actions: actions, accounts: accounts, queue: jobs, bookings: places, clusters: stands{}, mail: box, log: unwritten{}, reign: only{box, purse}, wallet: purse}}
	return nil
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
