package arcrest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"gridbroker/plugins"
)

// TestDetailsAreToldAgain: a computing element is asked for the details of jobs whose state stays the more seldom the
// longer it does, for what they have used every five minutes, and at once when it has changed.
func TestDetailsAreToldAgain(t *testing.T) {
	live, detail, asked := "RUNNING", "QUEUING", 0
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
		switch {
		case r.URL.Query().Get("action") == "info":
			asked++
			echo(w, body, fmt.Sprintf(`<status-code>200</status-code><reason>OK</reason><info_document><ComputingActivity><State>arcrest:%s</State>
				<ExitCode>0</ExitCode><ExecutionNode>n%d</ExecutionNode></ComputingActivity></info_document>`, detail, asked))
		case r.URL.Query().Has("state"):
			list(w, live)
		default:
			return false
		}
		return true
	})
	b := f.backend(t)
	now := time.Now()
	b.o.Now = func() time.Time { return now }
	hs := []plugins.Handle{{Endpoint: f.url(), ID: "job1"}}
	follow := func(d, pause time.Duration) (times int, st plugins.Status) {
		asked = 0
		for end := now.Add(d); !now.After(end); now = now.Add(pause) {
			if st = b.Status(t.Context(), hs)[0]; st.Err != nil {
				t.Fatal(st.Err)
			}
		}
		return asked, st
	}
	for _, c := range []struct {
		what         string
		d, pause     time.Duration
		state        plugins.State
		least, most  int
		live, detail string
	}{
		{"waits, for two minutes", 2 * time.Minute, 5 * time.Second, plugins.Queued, 15, 20, "RUNNING", "QUEUING"},
		{"waits, for long", 20 * time.Minute, 20 * time.Second, plugins.Queued, 18, 36, "RUNNING", "QUEUING"},
		{"has begun", time.Minute, 5 * time.Second, plugins.Running, 1, 4, "RUNNING", "RUNNING"},
		{"runs, for long", 25 * time.Minute, 20 * time.Second, plugins.Running, 5, 9, "RUNNING", "RUNNING"},
		{"has ended", 0, time.Second, plugins.Done, 1, 1, "FINISHED", "FINISHED"},
	} {
		live, detail = c.live, c.detail
		n, st := follow(c.d, c.pause)
		if st.State != c.state || n < c.least || n > c.most {
			t.Errorf("%s: %s, details asked for %d times, not %d to %d", c.what, st.State, n, c.least, c.most)
		}
	}
	if n := f.count("state="); n < 150 {
		t.Errorf("states were asked for %d times: as often as anybody looked", n)
	}
	now = now.Add(-30 * time.Minute) // the clock is set back
	live, detail = "RUNNING", "RUNNING"
	if n, _ := follow(0, time.Second); n != 1 {
		t.Errorf("after the clock was set back details are asked for %d times, not once", n)
	}
}

// TestDetailsAreForgotten: what was told of jobs that nobody asks about any more is not kept.
func TestDetailsAreForgotten(t *testing.T) {
	var d details
	now := time.Now()
	told := map[string]jobItem{"a": {Info: activity{State: []string{"arcrest:RUNNING"}}}}
	d.keep(told, map[string]string{"a": "RUNNING"}, now)
	if _, ask := d.known([]string{"a"}, map[string]string{"a": "RUNNING"}, now.Add(time.Second)); strings.Join(ask, " ") != "a" {
		t.Error("what was told of a job that has just begun is told again")
	}
	d.keep(nil, nil, now.Add(runningDetails))
	if len(d.of) != 0 {
		t.Errorf("%d are kept", len(d.of))
	}
}
