package scheduler

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/agent"
	"gridbroker/forecast/wire"
)

// filling is a batch system of so many processors in use.
type filling struct {
	now  time.Time
	busy atomic.Int64
}

func (f *filling) Queue(context.Context) (batch.State, error) {
	s := batch.State{Now: f.now, Nodes: []batch.Node{{Name: "n", CPUs: 64, Up: true}}, Queues: []batch.Queue{{Name: "all"}}}
	for i := range f.busy.Load() {
		s.Jobs = append(s.Jobs, batch.Job{ID: fmt.Sprint(i), Queue: "all", Procs: 1, Requested: time.Hour, Submitted: f.now, Started: f.now, Placed: []batch.Placement{{Node: "n", Procs: 1}}})
	}
	return s, nil
}

// besides is a connection to another database of the same server, by which this one's door is opened and shut, and this one's name.
func besides(t *testing.T, dsn string) (db *sql.DB, name string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	name = strings.TrimPrefix(u.Path, "/")
	u.Path = "/postgres"
	db, err = sql.Open("pgx", u.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db, name
}

// shut keeps everybody from a database, and open lets them in again.
func shut(t *testing.T, dsn string) (open func()) {
	t.Helper()
	db, name := besides(t, dsn)
	do := func(q string) {
		if _, err := db.ExecContext(context.Background(), q); err != nil {
			t.Fatal(err)
		}
	}
	do("alter database " + name + " with allow_connections false")
	do("select pg_terminate_backend(pid) from pg_stat_activity where datname = '" + name + "'")
	return func() { do("alter database " + name + " with allow_connections true") }
}

// A database that was away is back: agents whose news could not be taken come at once,
// and not when the pauses are over that grew with the outage. Their clock stands still here:
// no pause is ever over.
func TestAgentsAreBackWithTheDatabase(t *testing.T) {
	dsn := postgresDSN(t)
	f := newFrontOn(t, dsn, nil)
	site := &filling{now: f.now}
	ag := &agent.Agent{Conf: agent.Config{Cluster: "c0", Scheduler: f.server.URL, TTL: 10 * time.Minute, Site: wire.Site{Start: wire.Begin, LRMS: "slurm"}},
		Reader: site, Forecast: &batch.Forecaster{Policy: batch.Policy{Name: "easy"}}, HTTP: f.client(nil), Token: func() (string, error) { return "agent0", nil },
		Now: func() time.Time { return site.now }, Log: slog.New(slog.DiscardHandler)}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error)
	go func() { over <- ag.Run(ctx) }()
	defer func() { cancel(); <-over }()
	seq := func() uint64 {
		ack, err := f.store.Have(t.Context(), "c0", f.now)
		if err != nil {
			return 0
		}
		return ack.Seq
	}
	until := func(what string, true func() bool) {
		t.Helper()
		for end := time.Now().Add(2 * time.Minute); !true(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal(what)
			}
		}
	}
	until("it does not publish", func() bool { return seq() > 0 })
	before := seq()
	open := shut(t, dsn)
	site.busy.Store(10)
	time.Sleep(3 * time.Second) // its news are refused
	open()
	began := time.Now()
	until("it does not come back", func() bool { return seq() > before })
	t.Logf("its news are taken %v after the database is back", time.Since(began).Round(time.Millisecond))
}
