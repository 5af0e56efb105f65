package cli_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"gridbroker/forecast/scheduler"
	"gridbroker/testdata/testbed"
)

// scene is a whole small grid of real parts: PostgreSQL, Slurm, an agent, two
// replicas of the scheduler, and a user.
type scene struct {
	t        *testing.T
	dir      string
	grid     string
	env      []string
	pg       string // directory of the database
	pgBin    string
	pgPort   int
	ports    [2]int
	scheme   string // of the replicas' URLs
	client   *http.Client
	replicas [2]*exec.Cmd
}

// The leader is killed, the database is stopped hard and started again, while
// jobs are under way: every job runs once, and its output comes back.
func TestSchedulerOnPostgresAndSlurm(t *testing.T) {
	t.Parallel()
	s := newScene(t, "/tmp")
	s.configure("", "slurm1 slurm:")
	for i := range s.replicas {
		s.serve(i)
	}
	s.start("agent", "agent", "run", "--lrms", "slurm:", "--cluster", "slurm1", "--scheduler", s.url(1), "--start", "begin", "--token-file", "agent.token")
	var ids []string
	for round := range 3 {
		for n := range 4 {
			ids = append(ids, s.submit(fmt.Sprintf("job%d%d", round, n), ""))
		}
		switch round {
		case 0:
			s.killLeader()
		case 1:
			s.crashDatabase()
		}
	}
	s.wait(ids)
	for _, id := range ids {
		s.must("output", id)
	}
	for round := range 3 {
		for n := range 4 {
			s.ranOnce(fmt.Sprintf("job%d%d", round, n))
		}
	}
	s.balanced()
}

func (s *scene) ranOnce(name string) {
	ran, err := os.ReadFile(filepath.Join(s.dir, "ran", name))
	if err != nil || string(ran) != "x\n" {
		s.t.Errorf("%s ran %q times, %v", name, ran, err)
	}
}

// newScene has a database; base is where its directory is made.
func newScene(t *testing.T, base string) *scene {
	if testing.Short() {
		t.Skip("short tests only")
	}
	text, err := os.ReadFile(filepath.Join(testbed.Dir(), "slurm", "env"))
	if err != nil {
		t.Skip("no Slurm of the testbed: ", err)
	}
	bins, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(bins) == 0 || os.Getuid() != 0 {
		t.Skip("PostgreSQL is not installed, or this is not root")
	}
	s := &scene{t: t, pgBin: bins[len(bins)-1], scheme: "http", client: http.DefaultClient}
	// Slurm's jobs run as this user, on this machine: the directory is shared.
	if s.dir, err = os.MkdirTemp(base, "grid-scene-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(s.dir) })
	os.Chmod(s.dir, 0o755)
	s.env = append(os.Environ(), "HOME="+s.dir, "XDG_RUNTIME_DIR="+s.dir, "BEARER_TOKEN_FILE="+filepath.Join(s.dir, "user.token"))
	for _, word := range strings.Fields(string(text)) {
		if strings.HasPrefix(word, "SLURM_CONF=") {
			s.env = append(s.env, word)
		}
	}
	s.grid = filepath.Join(s.dir, "grid")
	if err := programs(s.dir, "grid"); err != nil {
		t.Fatal(err)
	}
	os.Mkdir(filepath.Join(s.dir, "ran"), 0o777)
	os.Chmod(filepath.Join(s.dir, "ran"), 0o777) // jobs run as several users
	s.database()
	return s
}

func freePort(t *testing.T) int {
	addr, err := netip.ParseAddrPort(testbed.FreeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	return int(addr.Port())
}

func (s *scene) database() {
	s.pg, s.pgPort = filepath.Join(s.dir, "pg"), freePort(s.t)
	os.Mkdir(s.pg, 0o700)
	if out, err := exec.Command("chown", "postgres", s.pg).CombinedOutput(); err != nil {
		s.t.Skipf("no user postgres: %s", out)
	}
	s.asPostgres("initdb", "-D", s.pg+"/data", "-A", "trust", "-E", "UTF8", "--locale=C")
	s.startDatabase()
	s.t.Cleanup(func() { s.asPostgres("pg_ctl", "-D", s.pg+"/data", "-m", "immediate", "stop") })
}

func (s *scene) asPostgres(program string, args ...string) {
	cmd := exec.Command("runuser", append([]string{"-u", "postgres", "--", filepath.Join(s.pgBin, program)}, args...)...)
	cmd.Dir = "/"
	if err := cmd.Run(); err != nil {
		s.t.Fatalf("%s: %v", program, err)
	}
}

func (s *scene) startDatabase() {
	s.asPostgres("pg_ctl", "-D", s.pg+"/data", "-w", "-l", s.pg+"/log", "-o",
		fmt.Sprintf("-p %d -c listen_addresses=127.0.0.1 -c unix_socket_directories=%s", s.pgPort, s.pg), "start")
}

func (s *scene) dsn() string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", s.pgPort)
}

func (s *scene) url(i int) string { return fmt.Sprintf("%s://127.0.0.1:%d", s.scheme, s.ports[i]) }

// configure writes the replicas' configurations, with more settings and with
// clusters: name and endpoint.
func (s *scene) configure(more string, clusters ...string) {
	tables := ""
	for _, who := range []string{"agent", "user"} {
		token := scheduler.NewKey()
		s.write(who+".token", token+"\n")
		tables += fmt.Sprintf("[[token]]\nsha256 = %q\nsubject = %q\n", scheduler.HashToken(token), who)
	}
	for _, c := range clusters {
		name, endpoint, _ := strings.Cut(c, " ")
		tables += fmt.Sprintf("[[cluster]]\nname = %q\nendpoint = %q\nagents = [\"agent\"]\n", name, endpoint)
	}
	s.write("scheduler.key", scheduler.NewKey()+"\n")
	for i := range s.ports {
		s.ports[i] = freePort(s.t)
		s.write(fmt.Sprintf("s%d.toml", i), fmt.Sprintf("name = \"replica%d\"\ndatabase = %q\nkey_file = \"scheduler.key\"\nlisten = \"127.0.0.1:%d\"\ncycle = \"1s\"\nstatus_every = \"1s\"\n%s%s",
			i, s.dsn(), s.ports[i], more, tables))
	}
	s.must("scheduler", "init", "--file", "s0.toml")
}

func (s *scene) write(name, text string) {
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) command(args ...string) *exec.Cmd {
	cmd := exec.Command(s.grid, args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	return cmd
}

func (s *scene) must(args ...string) string {
	s.t.Helper()
	var said bytes.Buffer
	cmd := s.command(args...)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("grid %s: %v\n%s%s", strings.Join(args, " "), err, out, said.String())
	}
	return string(out)
}

// start runs a service until the test ends; what it says is shown if the test
// fails.
func (s *scene) start(name string, args ...string) *exec.Cmd {
	var said bytes.Buffer
	cmd := s.command(append([]string{"-v"}, args...)...)
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if s.t.Failed() {
			s.t.Logf("%s:\n%s", name, said.String())
		}
	})
	return cmd
}

func (s *scene) serve(i int) {
	s.replicas[i] = s.start(fmt.Sprint("replica ", i), "scheduler", "serve", "--file", fmt.Sprintf("s%d.toml", i))
	s.until("a replica answers", func() bool { _, ok := s.leads(i); return ok })
}

// leads asks a replica whether it plans.
func (s *scene) leads(i int) (leads, up bool) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", s.url(i)+"/v1/ping", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return false, false
	}
	defer resp.Body.Close()
	var pong struct{ Leads bool }
	return json.NewDecoder(resp.Body).Decode(&pong) == nil && pong.Leads, true
}

func (s *scene) until(what string, f func() bool) {
	s.t.Helper()
	s.every(100*time.Millisecond, what, f)
}

// every asks as often as that until it is so.
func (s *scene) every(pause time.Duration, what string, f func() bool) {
	s.t.Helper()
	for end := time.Now().Add(6 * time.Minute); !f(); time.Sleep(pause) {
		if time.Now().After(end) {
			s.t.Fatal("in 6 minutes not: ", what)
		}
	}
}

// killLeader kills replica 0 as soon as it leads, which it does since it came
// first, and waits for the other. The dead one is started again.
func (s *scene) killLeader() {
	s.until("replica 0 leads", func() bool { leads, _ := s.leads(0); return leads })
	killed := time.Now()
	s.replicas[0].Process.Signal(syscall.SIGKILL)
	s.replicas[0].Wait()
	s.until("replica 1 leads", func() bool { leads, _ := s.leads(1); return leads })
	s.t.Logf("after kill -9 of the leader the other leads in %v", time.Since(killed).Round(time.Millisecond))
	s.serve(0)
}

func (s *scene) crashDatabase() {
	s.asPostgres("pg_ctl", "-D", s.pg+"/data", "-m", "immediate", "stop")
	time.Sleep(time.Second)
	s.startDatabase()
	back := time.Now()
	s.until("somebody leads again", func() bool {
		a, _ := s.leads(0)
		b, _ := s.leads(1)
		return a || b
	})
	s.t.Logf("after the database is back somebody leads in %v", time.Since(back).Round(time.Millisecond))
}

func (s *scene) submit(name, more string) string {
	s.jdl(name, more)
	return s.ids("submit", "--json", "--via", s.url(1), name+".jdl")[0]
}

// jdl writes a job that notes each time that it runs.
func (s *scene) jdl(name, more string) {
	s.write(name+".in", "hello "+name+"\n")
	s.write(name+".jdl", fmt.Sprintf(`[ JobName = %q; Executable = "/bin/sh"; Arguments = "-c \"cat %s.in; echo x >> %s; sleep 2\""; InputSandbox = {%q}; StdOutput = "out.txt"; OutputSandbox = {"out.txt"}; WallTime = 120; %s ]`,
		name, name, filepath.Join(s.dir, "ran", name), name+".in", more))
}

// ids are the jobs that a command tells of.
func (s *scene) ids(args ...string) (ids []string) {
	s.t.Helper()
	var out struct {
		Jobs []struct{ ID string }
	}
	text := s.must(args...)
	if err := json.Unmarshal([]byte(text), &out); err != nil || len(out.Jobs) == 0 {
		s.t.Fatal(err, text)
	}
	for _, j := range out.Jobs {
		ids = append(ids, j.ID)
	}
	return ids
}

// wait follows the jobs to their ends.
func (s *scene) wait(ids []string) {
	left := map[string]bool{}
	for _, id := range ids {
		left[id] = true
	}
	s.every(time.Second, "all jobs are done", func() bool { // a process each time
		var out struct {
			Jobs []struct{ ID, State, Reason string }
		}
		text, _ := s.command(append([]string{"status", "--json"}, ids...)...).Output()
		if json.Unmarshal(text, &out) != nil {
			return false
		}
		for _, j := range out.Jobs {
			switch j.State {
			case "done":
				delete(left, j.ID)
			case "failed", "cancelled", "lost":
				s.t.Fatalf("job %s is %s: %s", j.ID, j.State, j.Reason)
			}
		}
		return len(left) == 0
	})
}

// balanced looks at the ledger, and at how many began in their slots.
func (s *scene) balanced() {
	db, err := sql.Open("pgx", s.dsn())
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	var sum, hits, misses int64
	if err := db.QueryRow("select coalesce(sum(amount), 0) from ledger").Scan(&sum); err != nil || sum != 0 {
		s.t.Errorf("the ledger adds up to %d (%v)", sum, err)
	}
	if err := db.QueryRow("select sum(hits), sum(misses) from cluster").Scan(&hits, &misses); err != nil {
		s.t.Error(err)
	}
	s.t.Logf("%d jobs began in their slots, %d did not", hits, misses)
}
