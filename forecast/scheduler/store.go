package scheduler

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing/fstest"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver "pgx"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"

	"gridbroker/durable/sqlite"
)

//go:embed schema/*.sql
var schema embed.FS

// dialect is what PostgreSQL and SQLite say differently.
type dialect struct {
	driver string
	goose  database.Dialect
	words  *strings.Replacer
	said   *phrasebook
}

func postgresDialect() dialect {
	return dialect{"pgx", database.DialectPostgres, strings.NewReplacer(
		"{u64}", "numeric(20)", "{id}", "bigint", "{real}", "double precision", "{bytes}", "bytea",
		"{identity}", "bigint generated always as identity primary key",
		"{each}", "json_array_elements(cast($1 as json)) as t(value)",
		"{texts}", "json_array_elements_text(cast($1 as json)) as t(value)", "{body}", "cast(body as json)", "{int}", "bigint",
		"{for update}", "for update", "{skip locked}", "for update skip locked", "{for share}", "for share",
		"{on entry}", `create function keep_balance() returns trigger language plpgsql as $body$ begin
			insert into balance (account, amount) select account, sum(amount) from entered group by account order by account
			on conflict (account) do update set amount = balance.amount + excluded.amount; return null; end $body$;`,
		"{at entry}", `create trigger keep_balance after insert on ledger referencing new table as entered
			for each statement execute function keep_balance();`,
		"{no entry}", "drop trigger keep_balance on ledger; drop function keep_balance();",
		"{whole ids}", "alter table content alter column id type bigint;",
		"{long ids}", "alter table content alter column id type numeric(20);",
	), newPhrasebook()}
}

func sqliteDialect() dialect {
	return dialect{"sqlite", database.DialectSQLite3, strings.NewReplacer(
		"{u64}", "text", "{id}", "text", "{real}", "real", "{bytes}", "blob",
		"{identity}", "integer primary key autoincrement",
		"{each}", "json_each(?1) as t", "{texts}", "json_each(?1) as t", "{body}", "body", "{int}", "integer",
		"{for update}", "", "{skip locked}", "", "{for share}", "", "$", "?",
		"{on entry}", "select 1;",
		"{at entry}", `create trigger keep_balance after insert on ledger begin
			insert into balance (account, amount) values (new.account, new.amount)
			on conflict (account) do update set amount = balance.amount + excluded.amount; end;`,
		"{no entry}", "drop trigger keep_balance;",
		"{whole ids}", "select 1;", "{long ids}", "select 1;",
	), newPhrasebook()}
}

// connections is how many a replica has at most, and agents those that all agents' news have at a
// time: where a thousand come at once the leader and users have the others.
const (
	connections = 16
	agents      = connections / 4
)

// Store is the database.
type Store struct {
	db   *sql.DB
	d    dialect
	dsn  string
	seal *Seal
	// commit ends transactions; a simulation lets it fail.
	commit func(*sql.Tx) error
	bell   bell
	fresh  arrivals
	filled atomic.Int64  // when it was last found that there is no room, in ns of Unix time; 0: never
	desks  chan struct{} // one for each agent's news that are being taken
	ways   transactions  // how those of it are run
}

// openFile opens a database that is a file.
func openFile(path string, sync sqlite.Sync, seal *Seal) (*Store, error) {
	db, err := sqlite.Open(path, sqlite.Settings{Sync: sync, Wait: 20 * time.Second})
	if err != nil {
		return nil, err
	}
	return ready(&Store{db: db, d: sqliteDialect(), dsn: "sqlite:" + path, seal: seal}), nil
}

// ready sets up the connections of a database that is open.
func ready(s *Store) *Store {
	s.commit, s.desks, s.ways = (*sql.Tx).Commit, make(chan struct{}, agents), lasting{s}
	s.db.SetMaxOpenConns(connections)
	s.db.SetMaxIdleConns(connections) // a new one costs PostgreSQL a process, and every statement its preparation
	s.db.SetConnMaxIdleTime(time.Minute)
	return s
}

// tell is Store.tx for what an agent tells.
func tell(ctx context.Context, s *Store, f func(handle) error) error {
	select {
	case s.desks <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.desks }()
	return s.tx(ctx, f)
}

// OpenStore opens a database: postgres://..., or sqlite:FILE, which is made
// where it is missing. The schema must be there: see Migrate.
func OpenStore(dsn string, seal *Seal) (*Store, error) {
	if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		return openFile(path, sqlite.Full, seal)
	}
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		return nil, fmt.Errorf("database %s: want postgres://USER@HOST/NAME or sqlite:FILE", Redacted(dsn))
	}
	s := &Store{d: postgresDialect(), dsn: dsn, seal: seal}
	var err error
	if s.db, err = sql.Open(s.d.driver, dsn); err != nil {
		return nil, err
	}
	return ready(s), nil
}

// Close closes all connections.
func (s *Store) Close() error {
	s.bell.stop()
	return s.ways.close()
}

// Embedded tells whether the database is a file of this machine.
func (s *Store) Embedded() bool { return s.d.driver == "sqlite" }

// Connections tells how many a PostgreSQL lets its user have at most, and how many a replica may
// want; 0: as many as it likes.
func Connections(ctx context.Context, s *Store) (allowed, wanted int, err error) {
	if s.Embedded() {
		return 0, 0, nil
	}
	err = s.db.QueryRowContext(ctx, `select least(current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
		(select case when rolconnlimit < 0 then null else rolconnlimit end from pg_roles where rolname = current_user),
		(select case when datconnlimit < 0 then null else datconnlimit end from pg_database where datname = current_database()))`).Scan(&allowed)
	return allowed, connections + 1, err
}

// ReadOnly tells whether a PostgreSQL takes nothing: it is a standby, or was told so.
func ReadOnly(ctx context.Context, s *Store) (is bool, err error) {
	if s.Embedded() {
		return false, nil
	}
	var said string
	err = s.db.QueryRowContext(ctx, "show transaction_read_only").Scan(&said)
	return said == "on", err
}

// Room tries whether an embedded database has room to grow. Of a PostgreSQL nothing is known.
func (s *Store) Room() error {
	if path, ok := strings.CutPrefix(s.dsn, "sqlite:"); ok {
		return sqlite.Room(path)
	}
	return nil
}

// provider is the tool that brings the schema up to date.
func (s *Store) provider() (*goose.Provider, error) {
	files := fstest.MapFS{}
	names, err := fs.Glob(schema, "schema/*.sql")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := schema.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files[filepath.Base(name)] = &fstest.MapFile{Data: []byte(s.d.words.Replace(string(text)))}
	}
	return goose.NewProvider(s.d.goose, s.db, files, goose.WithVerbose(false))
}

// Migrate brings the schema up to this program's version, and checks it. A schema that is one version newer is left as it is.
func (s *Store) Migrate(ctx context.Context) (newer bool, err error) {
	p, err := s.provider()
	if err != nil {
		return false, err
	}
	if _, err := p.Up(ctx); err != nil {
		return false, err
	}
	return s.Check(ctx)
}

// ErrSchema is a database whose schema is not this program's.
var ErrSchema = errors.New("the database has another schema than this program")

// Check tells whether the schema is this program's, or one version newer: a
// replica goes on during a rolling upgrade.
func (s *Store) Check(ctx context.Context) (newer bool, err error) {
	p, err := s.provider()
	if err != nil {
		return false, err
	}
	have, err := p.GetDBVersion(ctx)
	if err != nil {
		return false, err
	}
	sources := p.ListSources()
	want := sources[len(sources)-1].Version
	switch {
	case have < want:
		return false, fmt.Errorf("%w; run: grid scheduler init (it has version %d, this program wants %d)", ErrSchema, have, want)
	case have > want+1:
		return false, fmt.Errorf("%w: it has version %d, which is of a newer program, and this one knows those up to %d: run that program", ErrSchema, have, want)
	}
	return have > want, nil
}
