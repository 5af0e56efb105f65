package scheduler

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// A database that takes nothing, as a standby does, is told as such to who submits and to who pings, and doctor finds
// it; nobody leads. When it takes something again a replica leads, and the log says so where it said that none does.
func TestReadOnlyDatabase(t *testing.T) {
	dsn := postgresDSN(t)
	f := newFrontOn(t, dsn, nil)
	var log strings.Builder
	var mu sync.Mutex
	f.s.log = slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return log.Write(p)
	}), &slog.HandlerOptions{Level: slog.LevelWarn}))
	logged := func(text string) {
		t.Helper()
		for range 200 {
			mu.Lock()
			has := strings.Contains(log.String(), text)
			mu.Unlock()
			if has {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Fatalf("the log has no %q: %s", text, log.String())
	}
	db, err := sql.Open("pgx", dsn+"&default_transaction_read_only=off")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	set := func(value string) {
		t.Helper()
		for _, q := range []string{"alter database " + strings.TrimPrefix(u.Path, "/") + " set default_transaction_read_only = " + value,
			"select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()"} {
			if _, err := db.Exec(q); err != nil {
				t.Fatal(err)
			}
		}
	}
	db.SetMaxOpenConns(1) // which is not ended
	readOnly := func(want bool) {
		t.Helper()
		var is bool
		for range connections { // those that were ended are told of once
			if is, err = ReadOnly(t.Context(), f.store); err == nil {
				break
			}
		}
		if err != nil || is != want {
			t.Errorf("it is read-only: %v, %v", is, err)
		}
	}
	set("on")
	readOnly(true)
	var out struct{ Detail string }
	body := map[string]any{"jobs": []Submission{{Key: "k", JDL: `[ Executable = "/bin/true"; ]`}}}
	if code := f.ask(f.client(nil), "alice", "POST", "/v1/jobs", body, &out); code != 503 || !strings.Contains(out.Detail, "read-only; nothing was changed") {
		t.Errorf("who submits is told %d %q", code, out.Detail)
	}
	var pong Pong
	f.ask(f.client(nil), "alice", "GET", "/v1/ping", nil, &pong)
	if !slices.ContainsFunc(pong.Hinders, func(s string) bool { return strings.Contains(s, "read-only") }) || len(pong.Hinders) > 2 {
		t.Errorf("who pings is told %q", pong.Hinders)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.s.Run(ctx) }()
	defer func() { stop(); <-ended }()
	logged("not leading")
	set("off")
	logged("level=WARN msg=leading")
	readOnly(false)
}

// A database that does not let the scheduler in, as after its password or name was changed, is not said to be silent: users
// are told whose affair it is. What PostgreSQL said of it is in the log.
func TestShutOutOfTheDatabase(t *testing.T) {
	dsn := postgresDSN(t)
	f := newFrontOn(t, dsn, nil)
	db, name := besides(t, dsn)
	rename := func(from, to string) {
		t.Helper()
		var err error
		for range 100 { // who is told that he is ended is still there for a moment
			if _, err = db.Exec("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", from); err == nil {
				_, err = db.Exec("alter database " + from + " rename to " + to)
			}
			if err == nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Fatal(err)
	}
	rename(name, name+"_moved")
	defer rename(name+"_moved", name)
	body := map[string]any{"jobs": []Submission{{Key: "k", JDL: `[ Executable = "/bin/true"; ]`}}}
	var out struct{ Detail string }
	for range connections { // those that were ended are told of once
		out.Detail = ""
		if code := f.ask(f.client(nil), "alice", "POST", "/v1/jobs", body, &out); code != 503 {
			t.Fatalf("who submits is told %d %q", code, out.Detail)
		}
		if strings.Contains(out.Detail, "not let into") {
			break
		}
	}
	if want := "the scheduler is not let into its database; nothing was changed; try again when its operator has mended that"; out.Detail != want {
		t.Errorf("who submits is told %q, want %q", out.Detail, want)
	}
	for code, shut := range map[string]bool{"28P01": true, "28000": true, "3D000": true, "42501": true, "57P03": false, "53300": false} {
		if got := shutOut(fmt.Errorf("failed to connect: %w", &pgconn.PgError{Code: code})); got != shut {
			t.Errorf("%s: shut out: %v", code, got)
		}
	}
}
