package scheduler

import (
	"errors"
	"path/filepath"
	"testing"
)

// A database that nobody needs afterwards is one transaction: what was written is read by the next
// one, and after one that failed, half done, nothing goes on.
func TestScratch(t *testing.T) {
	seal, err := NewSeal(NewKey())
	if err != nil {
		t.Fatal(err)
	}
	s, err := OpenScratch(t.Context(), filepath.Join(t.TempDir(), "x.db"), seal)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx := t.Context()
	if err := s.tx(ctx, func(h handle) error { return h.post(ctx, kindForget, "k", "x") }); err != nil {
		t.Fatal(err)
	}
	var list []message
	err = s.tx(ctx, func(h handle) (err error) { list, err = h.take(ctx, 10); return err })
	if err != nil || len(list) != 1 || list[0].kind != kindForget {
		t.Errorf("%v, %v", list, err)
	}
	torn := errors.New("torn")
	for range 2 {
		ran := false
		err = s.tx(ctx, func(handle) error { ran = true; return torn })
		if !errors.Is(err, torn) {
			t.Error(err)
		}
		if err := s.tx(ctx, func(handle) error { ran = true; return nil }); !errors.Is(err, torn) {
			t.Errorf("after a transaction that failed: %v, %v", ran, err)
		}
	}
}
