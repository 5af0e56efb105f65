package main_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestInterruptedAtASilentServer: whatever asks a computing element or a scheduler that takes the request and does not answer
// ends with Ctrl-C within a second, says in plain words that it was interrupted, and takes nobody to be wrong for that. Where the request was
// to change something, the exit code says that what became of it is not known.
func TestInterruptedAtASilentServer(t *testing.T) {
	t.Parallel()
	ce := newRogueCE(t)
	h := ce.grid(0, "submit", "--info", "file:ce.ldif", "job.jdl")
	id, _, _ := strings.Cut(h.out, " ")
	if h.code != 0 {
		t.Fatalf("%d %s", h.code, h.errs)
	}
	ce.turns(func(_ http.ResponseWriter, r *http.Request, _ string) bool {
		select {
		case <-r.Context().Done():
		case <-time.After(20 * time.Second):
		}
		return true
	})
	scheduler := strings.TrimSuffix(ce.url, "/arex")
	via := "grid" + strings.TrimPrefix(scheduler, "https")
	var kept string
	if h := ce.grid(2*time.Second, "run", "--info", "file:ce.ldif", "--", "/bin/true"); h.code != 130 || !strings.Contains(h.errs, "interrupted: the job was not sent, and is kept here; grid resubmit ") {
		t.Errorf("run: exit code %d, %q %q", h.code, h.out, h.errs)
	} else {
		_, kept, _ = strings.Cut(h.errs, "grid resubmit ")
		kept, _, _ = strings.Cut(kept, " ")
	}
	if h := ce.grid(0, "list", kept, "--json", "--jq", ".jobs[0].state"); kept == "" || !strings.Contains(h.out, "intended") {
		t.Errorf("the job that was not sent, %q: %s %s", kept, h.out, h.errs)
	}
	for _, c := range []struct {
		want int
		args []string
	}{
		{130, []string{"status", id}}, {130, []string{"output", id}}, {130, []string{"log", id}}, {130, []string{"cat", "-f", id}}, {130, []string{"auth", "renew", id}},
		{6, []string{"scheduler", "drain", "c1", "--via", via}}, {130, []string{"agent", "doctor", "--lrms", "local:", "--cluster", "here", "--scheduler", scheduler}},
	} {
		t.Run(c.args[0], func(t *testing.T) {
			t.Parallel()
			h := ce.grid(2*time.Second, c.args...)
			if h.code != c.want || h.took > 5*time.Second {
				t.Errorf("%v: exit code %d after %v", c.args, h.code, h.took)
			}
			if !strings.Contains(h.errs, "grid: interrupted") || strings.Contains(h.out+h.errs, "context canceled") || strings.Contains(h.out, "publish to") {
				t.Errorf("%v: %q %q", c.args, h.out, h.errs)
			}
		})
	}
}
