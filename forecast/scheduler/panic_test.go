package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"
)

// A panic while submissions are written ends the one that has the turn. It leaves no
// connection behind and keeps no turn, and who came along is answered: nobody waits,
// or takes an empty turn again and again.
func TestPanicWhileWriting(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 1, 0, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	submit := func(key string) (panicked any, err error) {
		defer func() { panicked = recover() }()
		_, err = w.s.Submit(ctx, Person{Subject: "u"}, []Submission{{Key: key, JDL: `Executable = "/bin/true";`}})
		return nil, err
	}
	commit := w.store.commit
	w.store.commit = func(*sql.Tx) error { panic("at the commit") }
	along := &entering{ctx: ctx, who: Person{Subject: "v"}, list: make([]Submission, 1), jobs: make([]*Job, 1), out: make([]Taken, 1), done: make(chan struct{})}
	w.s.entrance.queue = append(w.s.entrance.queue, along)

	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if panicked, err := submit("a"); panicked != "at the commit" {
			t.Errorf("%v %v", panicked, err)
		}
		select {
		case <-along.done:
			if !errors.Is(along.err, errAbandoned) {
				t.Errorf("who came along is told %v", along.err)
			}
		default:
			t.Error("who came along is not answered")
		}
		if n := w.store.db.Stats().InUse; n != 0 {
			t.Errorf("%d connections are kept", n)
		}
		w.store.commit = commit
		if panicked, err := submit("a"); panicked != nil || err != nil {
			t.Errorf("the next submission: %v %v", panicked, err)
		}
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		t.Fatal("it hangs")
	}
}
