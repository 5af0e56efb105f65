package cli_test

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// An older copy of the database is brought back as docs/operators.md says: jobs that were handed in
// before it was made and were sent since, and have ended and were brought, are found at their site and not run again, and one that was handed in since is not there, and said not to be. The ledger adds up.
func TestOlderBackupIsBroughtBack(t *testing.T) {
	t.Parallel()
	s := newScene(t, "/tmp")
	s.configure("", "slurm1 slurm:")
	s.serve(0)
	s.serve(1)
	s.start("agent", "agent", "run", "--lrms", "slurm:", "--cluster", "slurm1", "--scheduler", s.url(0)+","+s.url(1), "--start", "begin", "--token-file", "agent.token")
	ended := s.submit("ended", "")
	s.wait([]string{ended})
	ids := []string{ended}
	for n := range 6 { // some wait, some are booked or sent by then
		ids = append(ids, s.submit(fmt.Sprint("open", n), ""))
	}
	dump := filepath.Join(s.pg, "dump")
	s.asPostgres("pg_dump", "-p", fmt.Sprint(s.pgPort), "-h", "127.0.0.1", "-Fc", "-f", dump, "postgres")
	since := s.submit("since", "")
	s.every(time.Second, "what was handed in has ended and was brought", func() bool { return s.open() == 0 }) // their users have not asked
	late := s.submit("late", "")                                                                               // and is not known to the copy, either
	s.bringBack(dump)
	s.wait(ids)
	for n := range 6 {
		if s.ranOnce(fmt.Sprint("open", n)); t.Failed() {
			out, _ := s.command("log", ids[1+n]).CombinedOutput()
			t.Logf("%s", out)
		}
	}
	s.ranOnce("ended")
	s.ranOnce("since") // it had been sent
	for _, id := range []string{since, late} {
		out, _ := s.command("status", id).CombinedOutput()
		if !strings.Contains(string(out), "no such job") {
			t.Errorf("%s: %s", id, out)
		}
	}
	time.Sleep(3 * time.Second)
	if out, err := exec.Command(s.grid, "scheduler", "doctor", "--file", filepath.Join(s.dir, "s0.toml")).CombinedOutput(); err != nil || !strings.Contains(string(out), "ledger") {
		t.Errorf("doctor: %v\n%s", err, out)
	}
	s.balanced()
}

// The same at an A-REX and at an HTCondor pool, where users' proxies are delegated: what was sent since the copy was
// made is found there, whether it waits, runs or has ended, and nothing runs twice.
func TestOlderBackupIsBroughtBackToARCAndHTCondor(t *testing.T) {
	t.Parallel()
	arc, condor := testbed.NeedARC(t), testbed.Env(t, "condor")
	sites := map[string]string{"arex": testbed.Env(t, "slurmce")["GRID_ARC_SLURM"], "pool": "condor:"}
	s := newScene(t, condor["GRID_CONDOR_JOBS"]) // the pool's tools see this directory alone
	s.secure(arc)
	s.pool(condor)
	s.configure("cert = \"host.pem\"\nkey = \"host.key\"\n", "arex "+sites["arex"], "pool "+sites["pool"])
	s.serve(0)
	s.serve(1)
	for name, lrms := range map[string]string{"arex": "slurm:", "pool": "condor:"} {
		s.start("agent of "+name, "agent", "run", "--cluster", name, "--scheduler", s.url(0)+","+s.url(1), "--start", "plain", "--token-file", "agent.token", "--lrms", lrms)
	}
	wants := func(name, site string) string {
		return s.submit(site+name, fmt.Sprintf("Requirements = other.GlueCEUniqueID == %q;", site))
	}
	ids := []string{wants("ended", "arex"), wants("ended", "pool")}
	s.wait(ids)
	for n := range 3 {
		ids = append(ids, wants(fmt.Sprint(n), "arex"), wants(fmt.Sprint(n), "pool"))
	}
	dump := filepath.Join(s.pg, "dump")
	s.asPostgres("pg_dump", "-p", fmt.Sprint(s.pgPort), "-h", "127.0.0.1", "-Fc", "-f", dump, "postgres")
	s.every(time.Second, "all have ended and were brought", func() bool { return s.open() == 0 })
	s.bringBack(dump)
	s.wait(ids)
	for _, id := range ids {
		s.must("output", id)
	}
	for _, name := range []string{"ended", "0", "1", "2"} {
		s.ranOnce("arex" + name)
	}
	s.inPoolOnce(4)
	s.balanced()
}

// pool gives all the commands of an HTCondor pool.
func (s *scene) pool(condor map[string]string) {
	for _, name := range []string{"GRID_CONDOR_BIN", "GRID_CONDOR_JOBS"} {
		s.env = append(s.env, name+"="+condor[name])
	}
	s.env = append(s.env, "PATH="+condor["GRID_CONDOR_BIN"]+":"+os.Getenv("PATH"))
}

// inPoolOnce holds that the pool has so many jobs of this scheduler, each sent once.
func (s *scene) inPoolOnce(want int) {
	s.t.Helper()
	ours := map[string]bool{}
	db, err := sql.Open("pgx", s.dsn())
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query("select id from queue")
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			s.t.Fatal(err)
		}
		ours[id] = true
	}
	cmd := exec.Command("sh", "-c", "condor_q -allusers -af GridBrokerId; condor_history -limit 200 -af GridBrokerId")
	cmd.Env = s.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	sent := map[string][]string{}
	for _, id := range strings.Fields(string(out)) {
		if job := id[:max(0, strings.LastIndexByte(id, '-'))]; ours[job] {
			sent[job] = append(sent[job], id)
		}
	}
	for job, list := range sent {
		if len(list) != 1 {
			s.t.Errorf("the pool has %s as %v", job, list)
		}
	}
	if len(sent) != want {
		s.t.Errorf("the pool has %d jobs of this scheduler, want %d: %v", len(sent), want, sent)
	}
}

// bringBack ends the replicas and brings an older copy of the database back, as docs/operators.md says.
func (s *scene) bringBack(dump string) {
	for _, p := range s.replicas {
		p.Process.Signal(syscall.SIGKILL)
		p.Wait()
	}
	s.asPostgres("psql", "-p", fmt.Sprint(s.pgPort), "-h", "127.0.0.1", "-d", "template1", "-c", "drop database postgres with (force)", "-c", "create database postgres")
	s.asPostgres("pg_restore", "-p", fmt.Sprint(s.pgPort), "-h", "127.0.0.1", "-d", "postgres", dump)
	s.must("scheduler", "init", "--restored", "--file", "s0.toml")
	s.serve(0)
	s.serve(1)
}

// open is how many jobs have not ended, and been brought.
func (s *scene) open() (n int) {
	db, err := sql.Open("pgx", s.dsn())
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow("select count(*) from queue where state not in ('done', 'failed', 'cancelled')").Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}
