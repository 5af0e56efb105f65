package cli_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"gridbroker/plugins/all"
)

// Who is known to a scheduler hears from grid ping what he may do there, and where he may not do
// something that, and not that his credential is no good.
func TestRightsAtAScheduler(t *testing.T) {
	t.Parallel()
	var hinders atomic.Value
	hinders.Store("")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/ping" {
			io.WriteString(w, `{"interface": "org.gridbroker.scheduler", "versions": ["1"], "subject": "ann", "let_in": true, "admin": true, "sites": ["here"], "leads": true`+hinders.Load().(string)+`}`)
			return
		}
		http.Error(w, `{"detail": "only administrators may do that"}`, http.StatusForbidden)
	}))
	defer server.Close()
	dir := t.TempDir()
	code, out, errs := oneShotWith(t, dir, all.Backends(), "ping", server.URL)
	if code != 0 || !strings.Contains(out, ", leads\n") || !strings.Contains(out, "let in as ann\n  may: administer, speak for cluster here\n") {
		t.Errorf("code %d\n%s%s", code, out, errs)
	}
	hinders.Store(`, "hinders": ["no replica leads"]`)
	code, out, _ = oneShotWith(t, dir, all.Backends(), "ping", server.URL)
	if code != 7 || !strings.Contains(out, "  jobs would not be begun: no replica leads\n") {
		t.Errorf("hindered: code %d\n%s", code, out)
	}
	code, _, errs = oneShotWith(t, dir, all.Backends(), "scheduler", "drain", "here", "--via", server.URL)
	if code != 4 || !strings.HasSuffix(errs, "only administrators may do that (403)\n") {
		t.Errorf("code %d\n%s", code, errs)
	}
}
