package scheduler

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// A question for news is answered by the first end of a job of who asks: that comes while it is held, or has come since the
// mark that it bears. Other jobs, and what else happens to his own, answer nobody.
func TestNewsAreOfOwnEnds(t *testing.T) {
	for name, dsn := range map[string]func(testing.TB) string{"SQLite": sqliteDSN, "PostgreSQL": postgresDSN} {
		t.Run(name, func(t *testing.T) { newsAreOfOwnEnds(t, newWorld(t, dsn(t), 1, 0)) })
	}
}

func newsAreOfOwnEnds(t *testing.T, w *world) {
	tx := func(f func(h handle) error) {
		t.Helper()
		if err := w.store.tx(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	for _, of := range []string{"alice", "bob"} {
		tx(func(h handle) error {
			_, err := h.exec(t.Context(), "insert into queue (id, owner, key, state, body) values ($1, $2, 'k', 'running', '{}')", of+"s", of)
			return err
		})
	}
	hold := func(since int64, list ...watched) string {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		told := make(chan string, 1)
		go func() {
			n, err := newsOf(ctx, w.s, "alice", since)
			told <- fmt.Sprint(n, err)
		}()
		for !w.s.hub.listened() && len(told) == 0 {
			time.Sleep(time.Millisecond)
		}
		w.s.hub.publish(list)
		return <-told
	}
	log := func(list ...Entry) { tx(func(h handle) error { return h.log.write(t.Context(), 0, list) }) }
	log(Entry{Job: "alices", Event: "submitted"})
	entry := func(id int64, owner, event string) watched {
		return watched{Entry{ID: id, Job: owner + "s", Event: event}, owner}
	}
	got := hold(0, entry(2, "bob", "done"), entry(3, "alice", "running"), entry(4, "alice", "failed"))
	if want := "{4 [alices]} <nil>"; got != want {
		t.Errorf("told %s, want %s", got, want)
	}
	log(Entry{Job: "bobs", Event: "done"}, Entry{Job: "alices", Event: "running"}, Entry{Job: "alices", Event: "failed"})
	if got, want := hold(1), "{4 [alices]} <nil>"; got != want {
		t.Errorf("since its beginning %s, want %s", got, want)
	}
	told := make(chan News, 1)
	go func() {
		n, _ := newsOf(t.Context(), w.s, "alice", 4)
		told <- n
	}()
	for !w.s.hub.listened() {
		time.Sleep(time.Millisecond)
	}
	w.s.hub.end()
	if n := <-told; n.Mark != 4 || len(n.Jobs) > 0 {
		t.Errorf("when the replica ends %v", n)
	}
	if n, err := ended(t.Context(), w.s.store, "alice", 4); err != nil || n.Mark != 4 || len(n.Jobs) > 0 {
		t.Errorf("since then %v, %v", n, err)
	}
	if n, err := ended(t.Context(), w.s.store, "alice", 99); err != nil || n.Mark != 4 || len(n.Jobs) > 0 {
		t.Errorf("since a mark of another database %v, %v", n, err)
	}
}

// Of a mark that is far back the end of the log is read, and no more of it than that.
func TestNewsFromFarBack(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 1, 0)
	err := w.store.tx(t.Context(), func(h handle) error {
		for _, text := range []string{
			"insert into queue (id, owner, key, state, body) values ('j', 'alice', 'k', 'done', '{}')",
			"insert into log (id, at, epoch, job, cluster, who, event, said) values (2, 0, 0, 'j', '', '', 'done', ''), ($1, 0, 0, 'j', '', '', 'submitted', '')",
		} {
			if _, err := h.exec(t.Context(), text, farBack+2); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := ended(t.Context(), w.s.store, "alice", 1); err != nil || n.Mark != farBack+2 || len(n.Jobs) > 0 {
		t.Errorf("%v, %v", n, err)
	}
}
