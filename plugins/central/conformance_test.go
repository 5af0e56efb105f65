package central_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/credential"
	"gridbroker/forecast/agent"
	"gridbroker/forecast/scheduler"
	"gridbroker/forecast/wire"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/plugins/central"
	"gridbroker/plugins/local"
	"gridbroker/plugins/plugintest"
	"gridbroker/testdata/testbed"
)

// TestMain lets the test binary stand in for the helpers of the local back-end.
func TestMain(m *testing.M) {
	args := os.Args
	if len(args) == 3 && (args[1] == local.RunnerVerb || args[1] == local.SupervisorVerb) {
		err := local.RunJob(context.Background(), args[2], time.Now)
		if args[1] == local.RunnerVerb {
			err = local.RunSite(context.Background(), args[2], args[:1], time.Now)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// service is a scheduler with one site on this machine, its agent, and users
// known by their tokens.
type service struct {
	t     *testing.T
	store *scheduler.Store
	url   string // grid+http://...
}

func newService(t *testing.T, dir, database string) *service {
	t.Helper()
	seal, err := scheduler.NewSeal(scheduler.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	store, err := scheduler.OpenStore(database, seal)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	if _, err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	site, err := local.New(local.Options{Dir: filepath.Join(dir, "local"), Sites: []local.Site{{Name: "here", Slots: 16}}, Helper: []string{exe}, Now: time.Now, CPUs: 16, Memory: 4096})
	if err != nil {
		t.Fatal(err)
	}
	open := func(context.Context, string, []byte) (*plugins.Registry, func(), error) {
		reg, err := plugins.NewRegistry(plugins.Opened{Backend: plugins.Backend{Interfaces: []string{glue.InterfaceLocal}}, Submitter: site})
		return reg, func() {}, err
	}
	log := slog.New(slog.DiscardHandler)
	conf := scheduler.Config{Name: "test", Cycle: 250 * time.Millisecond, StatusEvery: 200 * time.Millisecond, Spool: dir, Clusters: map[string]scheduler.ClusterConfig{
		"here": {Agents: []string{"agent"}, Interface: glue.InterfaceLocal, Endpoint: local.EndpointURL("here")}}}
	s := scheduler.New(conf, store, open, time.Now, log)
	door := &scheduler.Door{Clusters: conf.Clusters}
	for _, who := range []string{"agent", "alice", "bob"} {
		door.Tokens = append(door.Tokens, scheduler.TokenUser{SHA256: scheduler.HashToken("token-of-" + who), Subject: who})
	}
	server := httptest.NewServer((&scheduler.API{S: s, Door: door, Log: log, Rate: 10_000}).Handler())
	ag := &agent.Agent{Conf: agent.Config{Cluster: "here", Scheduler: server.URL, Poll: 200 * time.Millisecond, Site: wire.Site{Start: wire.Plain, LRMS: "fork"}},
		Forecast: &batch.Forecaster{Policy: batch.Policy{Name: "easy"}}, HTTP: server.Client(), Now: time.Now, Log: log,
		Token: func() (string, error) { return "token-of-agent", nil }}
	if ag.Reader, err = site.QueueReader("local:here"); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- s.Run(ctx) }()
	go func() { ended <- ag.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		<-ended
		<-ended
		server.Close()
	})
	return &service{t, store, strings.Replace(server.URL, "http", "grid+http", 1)}
}

// as opens the back-end as a user.
func (s *service) as(who string) *central.Backend {
	s.t.Helper()
	back, err := central.Open(plugins.Config{Now: time.Now, Credentials: func() (*credential.Set, error) {
		token, err := credential.ParseToken("the test", "token-of-"+who)
		return &credential.Set{Token: token}, err
	}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { back.(*central.Backend).Close() })
	return back.(*central.Backend)
}

// The back-end behaves as all others, over a scheduler that sends its jobs to
// a site on this machine, with either database.
func TestConformance(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]func(t *testing.T, dir string) string{
		"SQLite":     func(_ *testing.T, dir string) string { return "sqlite:" + filepath.Join(dir, "s.db") },
		"PostgreSQL": func(t *testing.T, _ string) string { return testbed.Postgres(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := testbed.Home(t)
			conforms(t, newService(t, dir, database(t, dir)))
		})
	}
}

func conforms(t *testing.T, s *service) {
	const dead = "grid+http://127.0.0.1:1"
	plugintest.TestSubmitter(t, plugintest.Target{
		Submitter: s.as("alice"),
		Endpoint:  glue.Endpoint{URL: s.url, Interface: central.Interface},
		Stray:     plugins.Handle{Interface: central.Interface, Endpoint: s.url, ID: "s0000000000aaaaaaaaaa"},
		Hidden:    true, // a scheduler has the files of jobs that have ended
		Waits: func(r *plugins.Request) { // by its text, which is what a scheduler is given
			job, err := jdl.ParseJob("conformance.jdl", []byte(strings.Replace(r.Job.Text(), "[", "[ CPUNumber = 1000;", 1)))
			if err != nil {
				t.Fatal(err)
			}
			r.Job = job
		},
		Dead: glue.Endpoint{URL: dead, Interface: central.Interface},
	})
}
