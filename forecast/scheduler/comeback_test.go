package scheduler

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/agent"
	"gridbroker/forecast/wire"
	"gridbroker/testdata/testbed"
)

// server is a PostgreSQL of the test's own, that is stopped and started.
type server struct {
	tb       testing.TB
	dir, bin string
	port     int
}

func ownPostgres(tb testing.TB) *server {
	tb.Helper()
	bins, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(bins) == 0 || os.Getuid() != 0 {
		tb.Skip("PostgreSQL is not installed, or this is not root")
	}
	addr, err := netip.ParseAddrPort(testbed.FreeAddress(tb))
	if err != nil {
		tb.Fatal(err)
	}
	s := &server{tb: tb, bin: bins[len(bins)-1], port: int(addr.Port())}
	if s.dir, err = os.MkdirTemp("/tmp", "grid-pg-"); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(s.dir) })
	if out, err := exec.Command("chown", "postgres", s.dir).CombinedOutput(); err != nil {
		tb.Skipf("no user postgres: %s", out)
	}
	s.do("initdb", "-D", s.dir+"/data", "-A", "trust", "-E", "UTF8", "--locale=C")
	s.start()
	tb.Cleanup(s.stop)
	return s
}

func (s *server) do(program string, args ...string) {
	cmd := exec.Command("runuser", append([]string{"-u", "postgres", "--", filepath.Join(s.bin, program)}, args...)...)
	cmd.Dir = "/"
	if err := cmd.Run(); err != nil {
		s.tb.Fatalf("%s: %v", program, err)
	}
}

func (s *server) start() {
	s.do("pg_ctl", "-D", s.dir+"/data", "-w", "-l", s.dir+"/log", "-o",
		fmt.Sprintf("-p %d -c listen_addresses=127.0.0.1 -c unix_socket_directories=%s", s.port, s.dir), "start")
}

func (s *server) stop() { s.do("pg_ctl", "-D", s.dir+"/data", "-m", "immediate", "stop") }

func (s *server) dsn() string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", s.port)
}

// A thousand agents have news when the database is stopped hard, and wait for it at the scheduler.
// What is told is from when the database lets one in again: until a job that is handed in then is
// booked, and until all clusters were heard.
func BenchmarkAgentsComeBack(b *testing.B) {
	const agents = 1000
	pg := ownPostgres(b)
	f := newFrontOn(b, pg.dsn(), func(c *Config, a *API) {
		c.Cycle, c.Budget = time.Second, 1e9
		for i := range agents {
			name := fmt.Sprint("k", i)
			c.Clusters[name] = ClusterConfig{Agents: []string{"agent0"}, Interface: "none", Endpoint: "none:" + name}
		}
	})
	f.s.now = time.Now
	ctx, cancel := context.WithCancel(b.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	all.Go(func() { f.s.Run(ctx) })
	client := &http.Client{Transport: f.client(nil).Transport.(*http.Transport).Clone()}
	transport := client.Transport.(*http.Transport) // a connection stays while only the database is away; an agent has two at once
	transport.DisableKeepAlives, transport.MaxIdleConnsPerHost = false, 2*agents
	sites := make([]*clockwork, agents)
	for i := range sites {
		sites[i] = &clockwork{}
		ag := &agent.Agent{Conf: agent.Config{Cluster: fmt.Sprint("k", i), Scheduler: f.server.URL, TTL: 10 * time.Minute, Poll: 4 * time.Second, Site: wire.Site{Start: wire.Begin, LRMS: "slurm"}},
			Reader: sites[i], Forecast: &batch.Forecaster{Policy: batch.Policy{Name: "easy"}}, HTTP: client, Token: func() (string, error) { return "agent0", nil },
			Now: time.Now, Log: slog.New(slog.DiscardHandler)}
		all.Go(func() { ag.Run(ctx) })
	}
	until := func(what string, true func() bool) time.Duration {
		began := time.Now()
		for ; !true(); time.Sleep(10 * time.Millisecond) {
			if time.Since(began) > 5*time.Minute {
				b.Fatal(what)
			}
		}
		return time.Since(began)
	}
	db, err := sql.Open("pgx", pg.dsn()) // not the scheduler's
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	seqs := func() (list []int64) {
		rows, err := db.QueryContext(ctx, "select seq from cluster where name like 'k%' order by name")
		if err != nil {
			return nil
		}
		defer rows.Close()
		for rows.Next() {
			list = append(list, 0)
			if rows.Scan(&list[len(list)-1]) != nil {
				return nil
			}
		}
		return list
	}
	until("they do not publish", func() bool { return len(seqs()) == agents })
	for b.Loop() {
		before := seqs()
		pg.stop()
		for _, s := range sites {
			s.busy.Add(1)
		}
		time.Sleep(10 * time.Second)
		pg.start()
		up := until("the database does not answer", func() bool { return len(seqs()) == agents })
		began := time.Now()
		var got []Taken
		taken := until("nothing is taken", func() bool {
			var err error
			got, err = f.s.Submit(ctx, Person{Subject: "alice"}, []Submission{{Key: fmt.Sprint(began), JDL: "[ Executable = \"/bin/true\"; WallTime = 600; Requirements = true; ]"}})
			return err == nil
		})
		leads := taken + until("nobody leads", f.s.Leads)
		booked := leads + until("nothing is booked", func() bool {
			list, err := f.s.Jobs(ctx, Person{Subject: "alice"}, []string{got[0].ID})
			return err == nil && len(list) == 1 && list[0].Tries > 0
		})
		b.Logf("the database let us in %v after its start; a job was taken after %v, one led after %v at most, the job was booked after %v",
			up.Round(time.Millisecond), taken.Round(time.Millisecond), leads.Round(time.Millisecond), booked.Round(time.Millisecond))
		heard := booked + until("some are not heard", func() bool {
			now := seqs()
			return len(now) == agents && allLater(now, before)
		})
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		b.Logf("all were heard after %v; %d MB in use, %d MB of the system", heard.Round(time.Millisecond), m.HeapInuse>>20, m.Sys>>20)
	}
}

// allLater tells whether each number has grown.
func allLater(now, before []int64) bool {
	for i := range now {
		if now[i] <= before[i] {
			return false
		}
	}
	return true
}

// clockwork is a batch system whose clock goes.
type clockwork struct{ filling }

func (c *clockwork) Queue(ctx context.Context) (batch.State, error) {
	at := filling{now: time.Now()}
	at.busy.Store(c.busy.Load() % 32)
	return at.Queue(ctx)
}

// However many agents have news that the database does not take in yet, users' jobs are taken.
func TestAgentsLeaveConnections(t *testing.T) {
	dsn := postgresDSN(t)
	f := newFrontOn(t, dsn, nil)
	send := func(seq uint64) error {
		set := &wire.Set{}
		d := &wire.Delta{Cluster: "c0", Seq: seq, Made: f.now.Unix(), TTL: 600, Full: true, Digest: set.Digest(), Site: &wire.Site{LRMS: "slurm", Start: wire.Begin}}
		_, err := f.store.ingest(t.Context(), d, nil, f.now, nil)
		return err
	}
	if err := send(1); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.Begin()
	if err == nil {
		_, err = tx.Exec("select name from cluster for update")
	}
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 3 * connections {
		all.Go(func() { send(uint64(2 + i)) })
	}
	for end := time.Now().Add(10 * time.Second); len(f.store.desks) < cap(f.store.desks) && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := f.s.Submit(ctx, Person{Subject: "alice"}, []Submission{{Key: "k", JDL: "[ Executable = \"/bin/true\"; WallTime = 600; Requirements = true; ]"}}); err != nil {
		t.Errorf("a job is not taken: %v", err)
	}
	tx.Rollback()
	all.Wait()
}
