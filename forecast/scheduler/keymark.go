package scheduler

import (
	"context"
	"errors"
)

// keyMark is what the mark says. It is kept as a credential of nobody: no subject is empty.
const (
	keyMark    = "the key of this database"
	markedName = "key"
	nobody     = ""
)

// ErrOtherKey is a key that is not that of the database.
var ErrOtherKey = errors.New("the database keeps users' proxies and files encrypted with another key than that of key_file: take the key of the replicas beside this one, or the copy that was kept of it")

// CheckKey tells whether the key is the one that the database is used with: the first that comes leaves a
// mark made with it. Replicas with keys of their own would each not read what users gave the other.
func CheckKey(ctx context.Context, s *Store) error {
	return s.tx(ctx, func(h handle) error {
		if _, err := h.exec(ctx, "insert into credential (owner, expires, body) values ($1, 0, $2) on conflict (owner) do nothing",
			nobody, s.seal.Close(markedName, []byte(keyMark))); err != nil {
			return err
		}
		var mark []byte
		if err := h.rows(ctx, func(scan func(...any) error) error { return scan(&mark) }, "select body from credential where owner = $1", nobody); err != nil {
			return err
		}
		if text, err := s.seal.Open(markedName, mark); err != nil || string(text) != keyMark {
			return ErrOtherKey
		}
		return nil
	})
}

// TakeKey begins with a new key, where that of before is lost. What was encrypted with that stays unread: whose proxy it
// is delegates anew, and nothing is sent for him with another right meanwhile.
func TakeKey(ctx context.Context, s *Store) error {
	err := s.tx(ctx, func(h handle) error {
		_, err := h.exec(ctx, "delete from credential where owner = $1", nobody)
		return err
	})
	if err != nil {
		return err
	}
	return CheckKey(ctx, s)
}
