package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"

	library "modernc.org/sqlite"
)

// keeper opens connections that keep the statements they have prepared: to
// prepare one costs as much as to run it.
type keeper struct{ driver.Connector }

// pool is the connections to a database by its name.
func pool(dsn string) (*sql.DB, error) {
	base, err := library.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(keeper{base}), nil
}

// connection is what the library's connections can do.
type connection interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// Connect implements driver.Connector.
func (k keeper) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := k.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	whole, ok := c.(connection)
	if !ok {
		c.Close()
		return nil, fmt.Errorf("the library's connection is a %T, which lacks what is needed", c)
	}
	return &keeping{connection: whole, kept: map[string]statement{}}, nil
}

// maxKept bounds the statements that a connection keeps.
const maxKept = 200

// keeping is a connection with its statements that are not in use.
type keeping struct {
	connection
	kept map[string]statement
}

// statement is what the library's statements can do.
type statement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// take gives out a statement; it is kept no longer, so that two uses of one text
// at a time are two statements.
func (k *keeping) take(ctx context.Context, query string) (statement, error) {
	if s, ok := k.kept[query]; ok {
		delete(k.kept, query)
		return s, nil
	}
	prepared, err := k.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s, ok := prepared.(statement)
	if !ok {
		prepared.Close()
		return nil, fmt.Errorf("the library's statement is a %T, which lacks what is needed", prepared)
	}
	return s, nil
}

// give takes a statement back after its use.
func (k *keeping) give(query string, s statement, use error) error {
	if _, twice := k.kept[query]; twice || use != nil || k.kept == nil || len(k.kept) >= maxKept {
		return s.Close()
	}
	k.kept[query] = s
	return nil
}

// ExecContext implements driver.ExecerContext.
func (k *keeping) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	s, err := k.take(ctx, query)
	if err != nil {
		return nil, err
	}
	r, err := s.ExecContext(ctx, args)
	if closed := k.give(query, s, err); err == nil {
		err = closed
	}
	return r, err
}

// QueryContext implements driver.QueryerContext.
func (k *keeping) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := k.take(ctx, query)
	if err != nil {
		return nil, err
	}
	r, err := s.QueryContext(ctx, args)
	if err != nil {
		_ = k.give(query, s, err) // why it failed is told already
		return nil, err
	}
	return &answer{Rows: r, of: k, query: query, statement: s}, nil
}

// answer gives its statement back when it has been read.
type answer struct {
	driver.Rows
	of        *keeping
	query     string
	statement statement
	closed    bool
}

// Close implements driver.Rows.
func (a *answer) Close() error {
	if a.closed {
		return nil
	}
	a.closed = true
	err := a.Rows.Close()
	if closed := a.of.give(a.query, a.statement, err); err == nil {
		err = closed
	}
	return err
}

// Close implements driver.Conn.
func (k *keeping) Close() error {
	for _, s := range k.kept {
		s.Close()
	}
	k.kept = nil // what is given back from now on is closed
	return k.connection.Close()
}
