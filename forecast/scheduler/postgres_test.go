package scheduler

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// postgresDSN makes a database of the test's own at the testbed's server.
func postgresDSN(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("GRID_TESTBED_DIR")
	if dir == "" {
		dir = "/tmp/grid-testbed"
	}
	text, err := os.ReadFile(filepath.Join(dir, "postgres", "url"))
	if err != nil {
		t.Skip("no PostgreSQL of the testbed: ", err)
	}
	u, err := url.Parse(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	name := fmt.Sprintf("grid_test_%d_%d", os.Getpid(), time.Now().UnixNano())
	if _, err := db.Exec("create database " + name); err != nil {
		t.Skip("PostgreSQL of the testbed does not answer: ", err)
	}
	t.Cleanup(func() {
		db, err := sql.Open("pgx", strings.TrimSpace(string(text)))
		if err == nil {
			defer db.Close()
			db.Exec("drop database if exists " + name + " with (force)")
		}
	})
	u.Path = "/" + name
	return u.String()
}

func TestSimulationOnPostgres(t *testing.T) { simulate(t, postgresDSN(t), 7, 0.03, 1) }

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
	if took := time.Since(killed); took > 3*time.Second {
		t.Errorf("the other leads after %v", took)
	}
	if _, err := w.s.Cycle(t.Context(), first.Epoch); err == nil || !strings.Contains(err.Error(), ErrDeposed.Error()) {
		t.Errorf("the old leader's cycle: %v", err)
	}
	if _, err := w.s.Cycle(t.Context(), second.Epoch); err != nil {
		t.Error(err)
	}
}
