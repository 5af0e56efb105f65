package scheduler

import (
	"errors"
	"testing"
	"time"
)

// An entry that PostgreSQL numbered before others, and that is committed after them, is passed on to who listens, once;
// one that was taken back is not waited for without end.
func TestEntriesThatComeLate(t *testing.T) {
	w := newWorld(t, postgresDSN(t), 1, 0)
	ctx, now := t.Context(), time.Unix(1_800_000_000, 0)
	log := tail{last: -1}
	read := func() (got string) {
		t.Helper()
		list, err := log.entries(ctx, w.store, now)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			got += e.Event + " "
		}
		return got
	}
	write := func(event string) error {
		return w.store.tx(ctx, func(h handle) error { return h.log.write(ctx, 0, []Entry{{Event: event}}) })
	}
	numbered := func(event string, meanwhile func(), end error) error {
		return w.store.tx(ctx, func(h handle) error {
			if err := errors.Join(h.log.write(ctx, 0, []Entry{{Event: event}}), h.flush(ctx)); err != nil {
				return err
			}
			meanwhile()
			return end
		})
	}
	if err := write("before"); err != nil || read() != "" {
		t.Fatal(err)
	}
	taken := errors.New("taken back")
	err := numbered("late", func() {
		if err := numbered("never", func() {}, taken); err != taken {
			t.Error(err)
		}
		if err := write("early"); err != nil || read() != "early " {
			t.Error("the early one is not read", err)
		}
	}, nil)
	if got := read(); err != nil || got != "late " {
		t.Errorf("then %q, %v", got, err)
	}
	if got := read(); got != "" || len(log.missing) != 1 {
		t.Errorf("once more %q, missing %v", got, log.missing)
	}
	now = now.Add(lateEntry + time.Second)
	if read(); len(log.missing) > 0 {
		t.Errorf("missing for ever: %v", log.missing)
	}
}
