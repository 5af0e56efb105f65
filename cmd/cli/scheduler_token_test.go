package cli_test

import (
	"bufio"
	"database/sql"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// A user's token ends while his job waits: the job is held, which the stream of events tells, is
// sent to nobody though there are slots, and goes on when the grid follow that runs meanwhile
// finds a newer token in the file.
func TestTokenEndsWhileJobsWait(t *testing.T) {
	t.Parallel()
	s := newScene(t, "/tmp")
	iss := testbed.ServeIssuer(t)
	s.configure("token_grace = \"0s\"\nissuers = [\""+iss.URL+"\"]\naudience = \"grid\"\n", "slurm1 slurm:")
	s.serve(0)
	s.serve(1)
	token := func(life time.Duration) string {
		text, err := iss.Token("carol", life, map[string]any{"aud": []string{"grid", s.url(0), s.url(1)}})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	give := func(life time.Duration) { s.write("user.token", token(life)+"\n") }
	began := time.Now()
	s.must("--help")
	life := 20*time.Second + 20*time.Since(began) // so that a busy machine can submit within it
	give(life)
	ended := time.Now().Add(life)
	lines := s.events(token(time.Hour)) // what the jobs' token is good for is not heard for longer
	id := s.submit("held", "")
	s.start("follow", "follow", "--pause", "2s")
	db, err := sql.Open("pgx", s.dsn())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	job := func() (j struct {
		State, Blocked string
		Held           bool
		Tries          int
	}) {
		var text string
		if err := db.QueryRow("select body from queue").Scan(&text); err != nil {
			t.Fatal(err)
		}
		json.Unmarshal([]byte(text), &j)
		return j
	}
	t.Logf("submitted, %v left", time.Until(ended).Round(time.Second))
	s.until("the job is held", func() bool { return job().Held })
	if time.Now().Before(ended.Add(-2 * time.Second)) {
		t.Error("held before the token ended")
	}
	heard := false
	for end := time.After(5 * time.Minute); !heard; {
		select {
		case line := <-lines:
			heard = strings.Contains(line, `"event":"credential"`) && strings.Contains(line, "run out")
		case <-end:
			t.Fatal("the stream of events does not tell")
		}
	}
	s.start("agent", "agent", "run", "--lrms", "slurm:", "--cluster", "slurm1", "--scheduler", s.url(1), "--start", "begin", "--token-file", "agent.token")
	s.until("there are slots", func() bool {
		var n int
		return db.QueryRow("select count(*) from content").Scan(&n) == nil && n > 0
	})
	time.Sleep(5 * time.Second)
	if j := job(); j.State != "waiting" || !j.Held || j.Tries != 0 {
		t.Errorf("with slots and no token that is good it is %+v", j)
	}
	give(time.Hour)
	shown := time.Now()
	s.until("the job goes on", func() bool { return !job().Held })
	t.Logf("it goes on %v after there was a newer token", time.Since(shown).Round(time.Second))
	s.wait([]string{id})
	s.ranOnce("held")
	if log := s.must("log", id); !strings.Contains(log, "run out") || !strings.Contains(log, "renewed, good until") {
		t.Error(log)
	}
	s.balanced()
}

// events hears what a replica streams.
func (s *scene) events(token string) <-chan string {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), "GET", s.url(1)+"/v1/events", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := s.client.Do(req)
	if err != nil || resp.StatusCode != 200 {
		s.t.Fatal(resp, err)
	}
	lines := make(chan string, 1000)
	go func() {
		defer resp.Body.Close()
		for in := bufio.NewScanner(resp.Body); in.Scan(); {
			select {
			case lines <- in.Text():
			default:
			}
		}
	}()
	return lines
}
