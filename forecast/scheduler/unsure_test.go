package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// A database that goes away when it is to confirm has perhaps done what it was told: who
// submits is told that, and not that nothing was changed; the same once more is the same job.
func TestUnconfirmedIsNotUndone(t *testing.T) {
	for name, done := range map[string]bool{"done": true, "undone": false} {
		t.Run(name, func(t *testing.T) {
			f := newFront(t, nil)
			away := true
			f.store.commit = func(tx *sql.Tx) error {
				if !away {
					return tx.Commit()
				}
				if done {
					return errors.Join(tx.Commit(), errDatabase)
				}
				return errors.Join(tx.Rollback(), errDatabase)
			}
			body := map[string]any{"jobs": []Submission{{Key: "k", JDL: sample}}}
			var said struct{ Detail string }
			if code := f.ask(f.client(nil), "alice", "POST", "/v1/jobs", body, &said); code != 504 || !strings.Contains(said.Detail, "may have been done or not") {
				t.Errorf("%d %q", code, said.Detail)
			}
			away = false
			var out struct{ Jobs []Taken }
			if code := f.ask(f.client(nil), "alice", "POST", "/v1/jobs", body, &out); code != 200 || len(out.Jobs) != 1 || out.Jobs[0].ID == "" {
				t.Fatalf("%d %+v", code, out)
			}
			list, err := f.s.List(t.Context(), Person{Subject: "alice"}, false, false, 0, 10)
			if err != nil || len(list) != 1 || list[0].ID != out.Jobs[0].ID {
				t.Errorf("%d jobs, %v", len(list), err)
			}
		})
	}
}

// Who gives up while his submission waits for its turn is told that it is left out, and it is;
// one that is being written is in doubt.
func TestGivenUpAtTheEntrance(t *testing.T) {
	f := newFront(t, nil)
	writing, goOn := make(chan bool), make(chan bool)
	f.store.commit = func(tx *sql.Tx) error {
		writing <- true
		<-goOn
		return tx.Commit()
	}
	submit := func(ctx context.Context, key string) <-chan error {
		answer := make(chan error, 1)
		go func() {
			_, err := f.s.Submit(ctx, Person{Subject: "alice"}, []Submission{{Key: key, JDL: sample}})
			answer <- err
		}()
		return answer
	}
	first := submit(t.Context(), "first")
	<-writing // nobody else has the turn now
	ctx, cancel := context.WithCancel(t.Context())
	left := submit(ctx, "left")
	for f.s.entrance.length() == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) || errors.Is(err, errUnsure) {
		t.Errorf("of one that waited: %v", err)
	}
	goOn <- true
	if err := <-first; err != nil {
		t.Error(err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	e := &entering{ctx: ctx, done: make(chan struct{})} // somebody else is writing it
	cancel()
	if err := f.s.entrance.leave(e); !errors.Is(err, errUnsure) {
		t.Errorf("of one that is being written: %v", err)
	}
	if list, err := f.s.List(t.Context(), Person{Subject: "alice"}, false, false, 0, 10); err != nil || len(list) != 1 {
		t.Errorf("%d jobs, %v", len(list), err)
	}
}

func (n *entrance) length() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.queue)
}

// A submission that takes the database long is waited for: nobody is taken to have gone after some
// seconds.
func TestLongSubmission(t *testing.T) {
	t.Parallel()
	f := newFront(t, nil)
	f.store.commit = func(tx *sql.Tx) error {
		time.Sleep(6 * time.Second)
		return tx.Commit()
	}
	f.s.entrance.known.Store("alice", true)
	var out struct{ Jobs []Taken }
	if code := f.ask(f.client(nil), "alice", "POST", "/v1/jobs", map[string]any{"jobs": []Submission{{Key: "k", JDL: sample}}}, &out); code != 200 || len(out.Jobs) != 1 {
		t.Errorf("%d %+v", code, out)
	}
}

// Who waits to lead may wait for longer than the database lets statements of its user take.
func TestStatementTimeoutWhileWaiting(t *testing.T) {
	w := newWorld(t, postgresDSN(t), 1, 0, 4)
	if _, err := w.store.db.Exec("alter database " + pgName(t, w.store.dsn) + " set statement_timeout = '300ms'"); err != nil {
		t.Fatal(err)
	}
	first, err := w.store.Campaign(t.Context(), "first")
	if err != nil {
		t.Fatal(err)
	}
	led := make(chan error, 1)
	go func() {
		l, err := w.store.Campaign(t.Context(), "second")
		if err == nil {
			l.Resign()
		}
		led <- err
	}()
	select {
	case err := <-led:
		t.Fatal("it does not wait: ", err)
	case <-time.After(time.Second):
	}
	first.Resign()
	if err := <-led; err != nil {
		t.Error(err)
	}
}

// pgName is the database of a URL.
func pgName(t *testing.T, dsn string) string {
	_, name, ok := strings.Cut(strings.TrimPrefix(dsn, "postgres://"), "/")
	if name, _, _ = strings.Cut(name, "?"); !ok || name == "" {
		t.Fatal("no database is named: ", Redacted(dsn))
	}
	return name
}

// A database that hangs while a job is being sent: by the time at which another replica may
// have the action its sender has stopped.
func TestSenderStopsWhenTheDatabaseHangs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testbed.Postgres(t), 3, 0, 6)
	w.step(30)
	w.submit("alice", "k", 600)
	if _, err := w.s.Cycle(t.Context(), w.epoch); err != nil {
		t.Fatal(err)
	}
	o := outbox{w.s}
	list, err := o.claim(t.Context(), "sim", w.now, 10)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	o.now = time.Now
	hung, err := w.store.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer hung.Rollback()
	if _, err := hung.Exec(fmt.Sprintf("select 1 from action where id = %d for update", list[0].ID)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), lease)
	defer cancel()
	o.keep(ctx, list[0])
	if took := time.Since(began); took > lease-leaseMargin/2 {
		t.Errorf("it goes on for %v, another may have it after %v, by a clock that may be %v off", took, lease, leaseMargin)
	}
}
