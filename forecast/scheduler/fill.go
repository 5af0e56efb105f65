package scheduler

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/jackc/pgx/v5/stdlib"
)

// filled is how many rows one statement of the embedded database enters.
const filled = 50

// fill enters rows into a table that has none of their keys. PostgreSQL is sent
// them by its own protocol for that, which costs it less than half of what reading them
// out of JSON does. A value's type has as many bits as its column's.
func (q *statements) fill(ctx context.Context, table string, columns []string, rows [][]any) error {
	if err := q.flush(ctx); err != nil {
		return err
	}
	if q.wait == nil || q.wait.conn == nil {
		return q.fillEmbedded(ctx, table, columns, rows)
	}
	err := q.wait.conn.Raw(func(c any) error {
		query := "copy " + table + " (" + strings.Join(columns, ", ") + ") from stdin binary"
		_, err := c.(*stdlib.Conn).Conn().PgConn().CopyFrom(ctx, bytes.NewReader(binaryRows(rows)), query)
		return err
	})
	if err != nil {
		return failed("copy "+table, err)
	}
	return nil
}

// binaryRows are rows as PostgreSQL copies them in: each value after its length.
func binaryRows(rows [][]any) []byte {
	b := append(make([]byte, 0, 160*len(rows)), "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	order := binary.BigEndian
	for _, row := range rows {
		b = order.AppendUint16(b, uint16(len(row)))
		for _, v := range row {
			switch v := v.(type) {
			case string:
				b = append(order.AppendUint32(b, uint32(len(v))), v...)
			case int32:
				b = order.AppendUint32(order.AppendUint32(b, 4), uint32(v))
			case int64:
				b = order.AppendUint64(order.AppendUint32(b, 8), uint64(v))
			case float64:
				b = order.AppendUint64(order.AppendUint32(b, 8), math.Float64bits(v))
			default:
				panic(fmt.Sprintf("a value of type %T for a table", v))
			}
		}
	}
	return order.AppendUint16(b, math.MaxUint16)
}

// fillEmbedded enters rows some at a time.
func (q *statements) fillEmbedded(ctx context.Context, table string, columns []string, rows [][]any) error {
	places := "(" + strings.Repeat("?, ", len(columns)-1) + "?)"
	into := "insert into " + table + " (" + strings.Join(columns, ", ") + ") values "
	query := into + strings.Repeat(places+", ", filled-1) + places
	args := make([]any, 0, filled*len(columns))
	for ; len(rows) >= filled; rows = rows[filled:] {
		args = args[:0]
		for _, row := range rows[:filled] {
			args = append(args, row...)
		}
		if _, err := q.tx.ExecContext(ctx, query, args...); err != nil {
			return failed(query, err)
		}
	}
	for _, row := range rows {
		if _, err := q.tx.ExecContext(ctx, into+places, row...); err != nil {
			return failed(into, err)
		}
	}
	return nil
}
