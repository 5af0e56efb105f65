package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"gridbroker/testdata/testbed"
)

func postgresDSN(t testing.TB) string { return testbed.Postgres(t) }

func TestSimulationOnPostgres(t *testing.T) {
	testbed.Computes(t)
	simulate(t, postgresDSN(t), 7, 0.03, 1)
}

// The leader is killed: the other leads at once, and the old one can commit
// nothing any more.
func TestFailover(t *testing.T) {
	w := newWorld(t, postgresDSN(t), 1, 0, 4)
	first, err := w.store.Campaign(t.Context(), "first")
	if err != nil {
		t.Fatal(err)
	}
	led := make(chan *Leadership)
	go func() {
		l, err := w.store.Campaign(t.Context(), "second")
		if err != nil {
			t.Error(err)
		}
		led <- l
	}()
	select {
	case <-led:
		t.Fatal("two leaders")
	case <-time.After(300 * time.Millisecond):
	}
	if _, err := w.s.Cycle(t.Context(), first.Epoch); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	first.Resign()
	second := <-led
	t.Logf("the other leads after %v", time.Since(killed))
	defer second.Resign()
	if took := time.Since(killed); took > hungAfter {
		t.Errorf("the other leads after %v", took)
	}
	if _, err := w.s.Cycle(t.Context(), first.Epoch); err == nil || !strings.Contains(err.Error(), ErrDeposed.Error()) {
		t.Errorf("the old leader's cycle: %v", err)
	}
	if _, err := w.s.Cycle(t.Context(), second.Epoch); err != nil {
		t.Error(err)
	}
}

// The leader hangs in the middle of a cycle: the server takes its lock, the next
// one ends what is in flight, and the old one can commit nothing.
func TestHungLeader(t *testing.T) {
	w := newWorld(t, postgresDSN(t), 1, 0, 4)
	conn, err := pgx.Connect(t.Context(), w.store.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := lock(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	epoch, err := takeOver(t.Context(), w.store, "first")
	if err != nil {
		t.Fatal(err)
	}
	hung, err := w.store.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	h := tables(&statements{tx: hung, d: &w.store.d, under: withCaller})
	if err := h.reign.fence(t.Context(), epoch); err != nil {
		t.Fatal(err)
	}
	if err := h.mail.post(t.Context(), kindDrain, "of the old one", drained{"c0", "first", true}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	second, err := w.store.Campaign(t.Context(), "second")
	if err != nil {
		t.Fatal(err)
	}
	defer second.Resign()
	t.Logf("the other leads %v after the leader hangs", time.Since(began))
	if took := time.Since(began); took > 3*hungAfter {
		t.Errorf("the other leads after %v", took)
	}
	if err := hung.Commit(); err == nil {
		t.Error("the old leader has committed")
	}
	var n int
	if err := w.store.db.QueryRow("select count(*) from message where key = 'of the old one'").Scan(&n); err != nil || n != 0 {
		t.Errorf("%d messages of the old leader, %v", n, err)
	}
	if _, err := w.s.Cycle(t.Context(), epoch); !errors.Is(err, ErrDeposed) {
		t.Errorf("the old leader's cycle: %v", err)
	}
	if _, err := w.s.Cycle(t.Context(), second.Epoch); err != nil {
		t.Error(err)
	}
}

// A database is used with one key, and says so to who comes with another. Where the first is lost it takes the
// other when that is asked for; what a user delegated stays there, unread, so that nothing is done as somebody else.
func TestKeyOfTheDatabase(t *testing.T) {
	for name, dsn := range map[string]string{"sqlite": sqliteDSN(t), "postgres": postgresDSN(t)} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, dsn, 1, 0, 4)
			other, _ := NewSeal(NewKey())
			if err := CheckKey(t.Context(), w.store); err != nil {
				t.Fatal(err)
			}
			if err := w.store.KeepCredential(t.Context(), "alice", []byte("a proxy"), w.now.Add(time.Hour), time.Time{}); err != nil {
				t.Fatal(err)
			}
			w.store.seal = other
			if err := CheckKey(t.Context(), w.store); !errors.Is(err, ErrOtherKey) {
				t.Errorf("with another key: %v", err)
			}
			if err := TakeKey(t.Context(), w.store); err != nil {
				t.Fatal(err)
			}
			if err := CheckKey(t.Context(), w.store); err != nil {
				t.Error(err)
			}
			err := w.store.read(t.Context(), func(h handle) error {
				all, err := h.wallet.credentials(t.Context(), []string{"alice"})
				if err != nil {
					return err
				}
				a, _ := all.of(holder{owner: "alice"}, w.now.Unix())
				_, err = a.open(other, w.now)
				return err
			})
			if !errors.Is(err, errOtherKey) {
				t.Errorf("a proxy that was given before: %v", err)
			}
		})
	}
}

// The schema is brought one version further while a replica of this version
// works, and knows it; what is there stays. One that is two versions behind says so.
func TestRollingUpgrade(t *testing.T) {
	for name, dsn := range map[string]string{"sqlite": emptyDSN(t), "postgres": postgresDSN(t)} {
		t.Run(name, func(t *testing.T) {
			seal, _ := NewSeal(NewKey())
			old, err := OpenStore(dsn, seal)
			if err != nil {
				t.Fatal(err)
			}
			defer old.Close()
			p, err := old.provider()
			if err != nil {
				t.Fatal(err)
			}
			sources := p.ListSources()
			last := sources[len(sources)-1].Version
			if _, err := p.UpTo(t.Context(), last-1); err != nil { // as the program before this one left it
				t.Fatal(err)
			}
			if _, err := old.Check(t.Context()); !errors.Is(err, ErrSchema) {
				t.Errorf("a schema of the version before: %v", err)
			}
			before := New(Config{Clusters: map[string]ClusterConfig{}}, old, nil, time.Now, slog.New(slog.DiscardHandler))
			got, err := before.Submit(t.Context(), Person{Subject: "alice"}, []Submission{{Key: "k", JDL: sample}})
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld(t, dsn, 1, 0, 4) // migrates
			w.store.seal = seal
			for range 5 {
				w.step(30)
			}
			if j := w.job(got[0].ID); j.State == Waiting {
				t.Errorf("the job of before is %s: %s", j.State, j.Blocked)
			}
			for _, q := range []string{"alter table queue add column later text not null default ''",
				fmt.Sprintf("insert into goose_db_version (version_id, is_applied) values (%d, %s)", last+1, map[string]string{"sqlite": "1", "postgres": "true"}[name])} {
				if _, err := w.store.db.Exec(q); err != nil {
					t.Fatal(err)
				}
			}
			for _, ask := range []func(context.Context) (bool, error){w.store.Check, w.store.Migrate} {
				if newer, err := ask(t.Context()); err != nil || !newer {
					t.Errorf("one version newer: %v %v", newer, err)
				}
			}
			id := w.submit("alice", "k2", 120)
			for range 30 {
				w.step(30)
			}
			if j := w.job(id); j.State != Done {
				t.Errorf("on a schema one version newer a job is %s", j.State)
			}
			if sum, err := w.store.Audit(t.Context()); err != nil || sum != 0 { // entries of before the upgrade among them
				t.Errorf("the ledger adds up to %d, %v", sum, err)
			}
			if _, err := w.store.db.Exec(strings.Replace("insert into goose_db_version (version_id, is_applied) select V, is_applied from goose_db_version limit 1", "V", fmt.Sprint(last+2), 1)); err != nil {
				t.Fatal(err)
			}
			for _, ask := range []func(context.Context) (bool, error){w.store.Check, w.store.Migrate} { // Migrate would do nothing, and is not to say that all is well
				if _, err := ask(t.Context()); !errors.Is(err, ErrSchema) || !strings.Contains(err.Error(), "run that program") {
					t.Errorf("two versions newer: %v", err)
				}
			}
		})
	}
}
