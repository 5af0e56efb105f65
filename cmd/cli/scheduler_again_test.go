package cli_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A job of a scheduler that fails is sent again by grid follow as its retries allow, and the nodes
// of a DAG are sent when those before them are done: to that scheduler, though the user's
// configuration names none, and never from this machine to a site.
func TestFollowSendsToTheScheduler(t *testing.T) {
	t.Parallel()
	s := newScene(t, "/tmp")
	s.configure("", "slurm1 slurm:")
	s.serve(0)
	s.serve(1)
	s.start("agent", "agent", "run", "--lrms", "slurm:", "--cluster", "slurm1", "--scheduler", s.url(1), "--start", "begin", "--token-file", "agent.token")
	ran := func(name string) string { return filepath.Join(s.dir, "ran", name) }
	// What a scheduler does not publish of itself is asked of: only its clusters have it.
	const node = `Executable = "/bin/sh"; Arguments = %q; WallTime = 120; Requirements = other.GlueCEInfoLRMSType == "slurm";`
	first := fmt.Sprintf("-c \"echo x >> %[1]s; test $(wc -l < %[1]s) -gt 1\"", ran("again"))
	s.write("again.jdl", fmt.Sprintf("[ "+node+" RetryCount = 1; RetryOnExit = {1}; ]", first))
	write := func(name string) string { return fmt.Sprintf(node, "-c \"echo x >> "+ran(name)+"\"") }
	s.write("dag.jdl", fmt.Sprintf(`[ Type = "dag"; Nodes = [ A = [ Description = [ %s ] ]; B = [ Description = [ %s ] ] ]; Dependencies = { { A, B } } ]`, write("A"), write("B")))
	ids := s.ids("submit", "--json", "--via", s.url(1), "again.jdl")
	ids = append(ids, s.ids("submit", "--json", "--via", s.url(1), "dag.jdl")...)
	s.start("follow", "follow", "--pause", "2s")
	done := map[string]bool{}
	s.until("all have ended well", func() bool {
		text, _ := os.ReadFile(ran("again"))
		_, err := os.Stat(ran("B"))
		done["again"], done["B"] = string(text) == "x\nx\n", err == nil
		return done["again"] && done["B"]
	})
	s.wait(ids)
	s.ranOnce("A")
	s.ranOnce("B")
	db, err := sql.Open("pgx", s.dsn())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var n int
	if err := db.QueryRow("select count(*) from queue").Scan(&n); err != nil || n != 4 {
		t.Errorf("the scheduler has had %d jobs, want 4 (%v)", n, err)
	}
	for _, line := range strings.Split(s.must("list", "--all"), "\n")[1:] {
		if strings.Contains(line, "local") || strings.Contains(line, "slurm:") {
			t.Error(line)
		}
	}
	s.balanced()
}
