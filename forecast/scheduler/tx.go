package scheduler

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"gridbroker/durable/sqlite"
)

// handle is a transaction of a store.
type handle struct {
	*statements
	actions  actions
	accounts accounts
	queue    queue
	bookings bookings
	clusters clusters
	mail     mail
	log      journal
	reign    reign
	wallet   wallet
}

// statements is what a transaction says to its database, in the dialect.
type statements struct {
	tx   *sql.Tx
	d    *dialect
	wait *waiting
	// under is the context by which a statement is given up, of its caller's.
	under func(context.Context) context.Context
}

// withCaller gives statements up with their caller.
func withCaller(ctx context.Context) context.Context { return ctx }

// tables is a transaction of a store whose parts are all tables.
func tables(q *statements) handle {
	return handle{statements: q, actions: actionTable{q}, accounts: accountTable{q}, queue: queueTable{q}, bookings: bookingTable{q},
		clusters: clusterTable{q}, mail: messageTable{q}, log: logTable{q}, reign: reignTable{q}, wallet: walletTable{q}}
}

// transactions are how those of a store are run.
type transactions interface {
	// write runs f in one that is committed where f has no error.
	write(ctx context.Context, f func(handle) error) error
	// read runs f in one that only reads.
	read(ctx context.Context, f func(handle) error) error
	close() error
}

// lasting are those of a database that is needed: each is one of its own.
type lasting struct{ *Store }

// waiting is what a transaction writes before it is committed: PostgreSQL is sent
// all of it at once, since what costs is the way there and back.
type waiting struct {
	conn    *sql.Conn
	batch   pgx.Batch
	queries []string
	wake    bool
}

func failed(query string, err error) error {
	return fmt.Errorf("%.60s: %w", query, err)
}

func (q *statements) exec(ctx context.Context, query string, args ...any) (int64, error) {
	if err := q.flush(ctx); err != nil {
		return 0, err
	}
	res, err := q.tx.ExecContext(q.under(ctx), q.d.say(query), args...)
	if err != nil {
		return 0, failed(query, err)
	}
	return res.RowsAffected()
}

func (q *statements) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := q.flush(ctx); err != nil {
		return nil, err
	}
	return q.tx.QueryContext(q.under(ctx), q.d.say(query), args...)
}

// write is a statement whose outcome nobody waits for: it is done before the
// next one that is waited for, or before the transaction is committed, which
// fails where it has failed.
func (q *statements) write(ctx context.Context, query string, args ...any) error {
	if q.wait == nil || q.wait.conn == nil {
		_, err := q.exec(ctx, query, args...)
		return err
	}
	q.wait.batch.Queue(q.d.say(query), args...)
	q.wait.queries = append(q.wait.queries, query)
	return nil
}

// writeEach is a write over the elements of a JSON array, {each} in its text; the
// array is its first argument.
func (q *statements) writeEach(ctx context.Context, query string, list any, args ...any) error {
	if q.d.driver == "sqlite" {
		if v := reflect.ValueOf(list); v.Kind() == reflect.Slice {
			if r := q.d.perRow(query, v.Type().Elem(), len(args)); r != nil {
				return r.write(q.under(ctx), q.tx, v, args)
			}
		}
	}
	text, err := jsonText(list)
	if err != nil {
		return err
	}
	return q.write(ctx, query, append([]any{text}, args...)...)
}

// flush sends what is to be written.
func (q *statements) flush(ctx context.Context) error {
	if q.wait == nil || len(q.wait.queries) == 0 {
		return nil
	}
	w := q.wait
	err := w.conn.Raw(func(c any) error {
		answers := c.(*stdlib.Conn).Conn().SendBatch(ctx, &w.batch)
		for _, query := range w.queries {
			if _, err := answers.Exec(); err != nil {
				answers.Close()
				return failed(query, err)
			}
		}
		return answers.Close()
	})
	w.batch, w.queries = pgx.Batch{}, nil
	return err
}

// rows calls f for every row of a query.
func (q *statements) rows(ctx context.Context, f func(scan func(...any) error) error, query string, args ...any) error {
	rows, err := q.query(ctx, query, args...)
	if err != nil {
		return failed(query, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// tx runs f in a transaction that is committed where f has no error.
func (s *Store) tx(ctx context.Context, f func(handle) error) error {
	return s.ways.write(ctx, f)
}

// write implements transactions.
func (s lasting) write(ctx context.Context, f func(handle) error) error {
	return noteFull(s.Store, transact(ctx, s.Store, f))
}

func transact(ctx context.Context, s *Store, f func(handle) error) error {
	conn, tx, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer tx.Rollback() // where it was not committed; conn.Close waits for that
	h := tables(&statements{tx: tx, d: &s.d, wait: &waiting{}, under: withCaller})
	if !s.Embedded() {
		h.wait.conn = conn
	}
	err = f(h)
	if err == nil {
		err = h.flush(ctx)
	}
	if err != nil {
		return err
	}
	if err := s.commit(tx); err != nil {
		return unsure(err)
	}
	if h.wait.wake {
		s.bell.ring(s)
	}
	return nil
}

// errUnsure is a transaction of which it is not known whether it was committed.
var errUnsure = errors.New("the database did not say whether it was written down")

// unsure tells of an error at the end of a transaction that it may have been committed all the
// same: all but what the database itself has said, as long as it went on living.
func unsure(err error) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Severity == "ERROR" || errors.Is(err, pgx.ErrTxCommitRollback) || sqlite.Filled(err) {
		return err
	}
	return fmt.Errorf("%w: %w", errUnsure, err)
}

// begin begins a transaction on a connection of its own. One that the server has
// ended meanwhile is left for another.
func (s *Store) begin(ctx context.Context) (*sql.Conn, *sql.Tx, error) {
	for try := 0; ; try++ {
		conn, err := s.db.Conn(ctx)
		if err != nil {
			return nil, nil, err
		}
		tx, err := conn.BeginTx(ctx, nil)
		if err == nil {
			return conn, tx, nil
		}
		conn.Close()
		if try == connections || !errors.Is(err, driver.ErrBadConn) {
			return nil, nil, err
		}
	}
}

// read runs f in a transaction that only reads.
func (s *Store) read(ctx context.Context, f func(handle) error) error {
	return s.ways.read(ctx, f)
}

// read implements transactions.
func (s lasting) read(ctx context.Context, f func(handle) error) error {
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: s.d.driver == "pgx"})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	return f(tables(&statements{tx: tx, d: &s.d, under: withCaller}))
}

// close implements transactions.
func (s lasting) close() error { return s.db.Close() }
