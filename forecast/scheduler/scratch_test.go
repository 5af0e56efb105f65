package scheduler

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// newScratch opens a database that nobody needs afterwards.
func newScratch(t *testing.T) *Store {
	t.Helper()
	seal, err := NewSeal(NewKey())
	if err != nil {
		t.Fatal(err)
	}
	s, err := OpenScratch(t.Context(), filepath.Join(t.TempDir(), "x.db"), seal)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// A database that nobody needs afterwards is one transaction: what was written is read by the next
// one, and after one that failed, half done, nothing goes on.
func TestScratch(t *testing.T) {
	s := newScratch(t)
	ctx := t.Context()
	if err := s.tx(ctx, func(h handle) error { return h.mail.post(ctx, kindForget, "k", "x") }); err != nil {
		t.Fatal(err)
	}
	var list []message
	err := s.tx(ctx, func(h handle) (err error) { list, err = h.mail.take(ctx, 10); return err })
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

// What is due is found among what is not done yet, however much has been done since
// the database was made; what was due first comes first.
func TestClaimsGoByWhatIsDue(t *testing.T) {
	s := newFile(t)
	now := time.Unix(1_800_000_000, 0)
	insert := `with recursive n(i) as (select 1 union all select i + 1 from n where i < $1)
		insert into action (key, job, verb, epoch, due, done) select $2 || i, 'j', 'launch', 1, $3 - i, $4 from n`
	err := s.tx(t.Context(), func(h handle) error {
		for _, args := range [][]any{{300_000, "done/", now.Unix(), 1}, {50, "due/", now.Unix(), 0}} {
			if _, err := h.exec(t.Context(), insert, args...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	o := outbox{&Scheduler{store: s}}
	testbed.Within(t, time.Second, 100<<20, func() {
		for k := range 50 {
			list, err := o.claim(t.Context(), "me", now, 1)
			if want := fmt.Sprint("due/", 50-k); err != nil || len(list) != 1 || list[0].Key != want {
				t.Fatalf("claim %d: %+v, %v, want %s", k, list, err, want)
			}
		}
	})
}
