package scheduler

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"reflect"
)

// keepFile keeps a file of a job, encrypted.
func (s *Store) keepFile(ctx context.Context, h handle, job, side, name string, body []byte) error {
	_, err := h.exec(ctx, `insert into file (job, side, name, size, body) values ($1, $2, $3, $4, $5)
		on conflict (job, side, name) do update set size = excluded.size, body = excluded.body`,
		job, side, name, len(body), s.seal.Close(job+"/"+side+"/"+name, body))
	return err
}

// File reads a file of a job; side is in or out.
func (s *Store) File(ctx context.Context, job, side, name string) ([]byte, error) {
	var sealed []byte
	err := s.read(ctx, func(h handle) error {
		return h.tx.QueryRowContext(ctx, h.d.say("select body from file where job = $1 and side = $2 and name = $3"), job, side, name).Scan(&sealed)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, ErrNoFile
	}
	if err != nil {
		return nil, err
	}
	return s.seal.Open(job+"/"+side+"/"+name, sealed)
}

// ErrNoFile is a file that is not kept.
var ErrNoFile = errors.New("no such file")

// jsonText writes a list as the databases read lists: one that is nil, too, which
// JSON would call null.
func jsonText(list any) (string, error) {
	if v := reflect.ValueOf(list); v.Kind() == reflect.Slice && v.IsNil() {
		return "[]", nil
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	err := enc.Encode(list)
	return text.String(), err
}
