package scheduler

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// filled is how many rows one statement of the embedded database enters.
const filled = 50

// fill enters rows into a table that has none of their keys. PostgreSQL is sent
// them by its own protocol for that, which costs it less than half of what reading them
// out of JSON does.
func (h handle) fill(ctx context.Context, table string, columns []string, rows [][]any) error {
	if err := h.flush(ctx); err != nil {
		return err
	}
	if h.wait == nil || h.wait.conn == nil {
		return h.fillEmbedded(ctx, table, columns, rows)
	}
	err := h.wait.conn.Raw(func(c any) error {
		_, err := c.(*stdlib.Conn).Conn().CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromRows(rows))
		return err
	})
	if err != nil {
		return failed("copy "+table, err)
	}
	return nil
}

// fillEmbedded enters rows some at a time.
func (h handle) fillEmbedded(ctx context.Context, table string, columns []string, rows [][]any) error {
	places := "(" + strings.Repeat("?, ", len(columns)-1) + "?)"
	into := "insert into " + table + " (" + strings.Join(columns, ", ") + ") values "
	query := into + strings.Repeat(places+", ", filled-1) + places
	args := make([]any, 0, filled*len(columns))
	for ; len(rows) >= filled; rows = rows[filled:] {
		args = args[:0]
		for _, row := range rows[:filled] {
			args = append(args, row...)
		}
		if _, err := h.tx.ExecContext(ctx, query, args...); err != nil {
			return failed(query, err)
		}
	}
	for _, row := range rows {
		if _, err := h.tx.ExecContext(ctx, into+places, row...); err != nil {
			return failed(into, err)
		}
	}
	return nil
}
