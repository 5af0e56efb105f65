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

// handle is a transaction that speaks the dialect.
type handle struct {
	tx      *sql.Tx
	d       *dialect
	wait    *waiting
	scratch *scratch // nil: the database is one that is needed
	// bare: and it was never given a credential.
	bare bool
}

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

func (h handle) exec(ctx context.Context, query string, args ...any) (int64, error) {
	if err := h.flush(ctx); err != nil {
		return 0, err
	}
	if h.scratch != nil { // each statement would watch its context, at the price of a statement
		ctx = context.WithoutCancel(ctx)
	}
	res, err := h.tx.ExecContext(ctx, h.d.say(query), args...)
	if err != nil {
		return 0, failed(query, err)
	}
	return res.RowsAffected()
}

func (h handle) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := h.flush(ctx); err != nil {
		return nil, err
	}
	if h.scratch != nil {
		ctx = context.WithoutCancel(ctx)
	}
	return h.tx.QueryContext(ctx, h.d.say(query), args...)
}

// write is a statement whose outcome nobody waits for: it is done before the
// next one that is waited for, or before the transaction is committed, which
// fails where it has failed.
func (h handle) write(ctx context.Context, query string, args ...any) error {
	if h.wait == nil || h.wait.conn == nil {
		_, err := h.exec(ctx, query, args...)
		return err
	}
	h.wait.batch.Queue(h.d.say(query), args...)
	h.wait.queries = append(h.wait.queries, query)
	return nil
}

// writeEach is a write over the elements of a JSON array, {each} in its text; the
// array is its first argument.
func (h handle) writeEach(ctx context.Context, query string, list any, args ...any) error {
	if h.scratch != nil {
		ctx = context.WithoutCancel(ctx)
	}
	if h.d.driver == "sqlite" {
		if v := reflect.ValueOf(list); v.Kind() == reflect.Slice {
			if r := h.d.perRow(query, v.Type().Elem(), len(args)); r != nil {
				return r.write(ctx, h.tx, v, args)
			}
		}
	}
	text, err := jsonText(list)
	if err != nil {
		return err
	}
	return h.write(ctx, query, append([]any{text}, args...)...)
}

// flush sends what is to be written.
func (h handle) flush(ctx context.Context) error {
	if h.wait == nil || len(h.wait.queries) == 0 {
		return nil
	}
	w := h.wait
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

// tx runs f in a transaction that is committed where f has no error.
func (s *Store) tx(ctx context.Context, f func(handle) error) error {
	if s.scratch != nil {
		return s.scratch.do(&s.d, f)
	}
	return noteFull(s, transact(ctx, s, f))
}

// transact is Store.tx of a database that is needed.
func transact(ctx context.Context, s *Store, f func(handle) error) error {
	conn, tx, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer tx.Rollback() // where it was not committed; conn.Close waits for that
	h := handle{tx: tx, d: &s.d, wait: &waiting{}}
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

// rows calls f for every row of a query.
func (h handle) rows(ctx context.Context, f func(scan func(...any) error) error, query string, args ...any) error {
	rows, err := h.query(ctx, query, args...)
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

// read runs f in a transaction that only reads.
func (s *Store) read(ctx context.Context, f func(handle) error) error {
	if s.scratch != nil {
		return f(s.scratch.handle(&s.d))
	}
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: s.d.driver == "pgx"})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	return f(handle{tx: tx, d: &s.d})
}
