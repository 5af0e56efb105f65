package monitor

import (
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/plugins"
	"gridbroker/plugins/ask"
	"gridbroker/testdata/testbed"
)

var watched = []*glue.Resource{
	{ID: "ce1", CE: "ce1.grid.test"}, {ID: "ce2", CE: "ce2.grid.test"}, {ID: "ce3", CE: "ce3.grid.test"}, {ID: "ce4", CE: "ce4.grid.test"},
	{ID: "elsewhere", CE: "ce2.other.test"},
}

// eventually asks until the answer is the wanted one: the servers look every
// second or so.
func eventually(t *testing.T, raw string, want map[string]string) {
	t.Helper()
	m, err := Open(raw, Options{Ask: &ask.Client{HTTP: http.DefaultClient}})
	if err != nil {
		t.Fatal(err)
	}
	var diff string
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(300 * time.Millisecond) {
		got, err := m.Troubles(t.Context(), watched)
		if err != nil {
			diff = err.Error()
		} else if diff = compare(got, want); diff == "" {
			return
		}
	}
	t.Error(diff)
}

// compare wants each complaint to begin as given, with ! where it forbids; a
// want of "?" is whatever is said but a ban.
func compare(got map[string]plugins.Trouble, want map[string]string) string {
	for _, r := range watched {
		have, has := got[r.ID]
		said := have.Said
		if have.Critical {
			said = "!" + said
		}
		w, wanted := want[r.ID]
		if w == "?" && !have.Critical {
			continue
		}
		if has != wanted || !strings.HasPrefix(said, w) {
			return fmt.Sprintf("%s: %q, want %q", r.ID, said, w)
		}
	}
	return ""
}

func TestRealNagios(t *testing.T) {
	env := testbed.Env(t, "monitor")
	srv := httptest.NewServer(&cgi.Handler{Path: env["GRID_NAGIOS_CGI"], Env: []string{"NAGIOS_CGI_CONFIG=" + env["GRID_NAGIOS_CGI_CONFIG"]}})
	defer srv.Close()
	for name, at := range map[string]string{"status.dat": "nagios:" + env["GRID_NAGIOS_STATUS"], "JSON CGI": "nagios+" + srv.URL} {
		t.Run(name, func(t *testing.T) {
			down := map[string]string{"ce2": "!CRITICAL: no answer", "ce4": "!in a downtime"}
			warned := map[string]string{"ce2": down["ce2"], "ce3": "", "ce4": down["ce4"]}
			eventually(t, at, warned)
			warned["ce3"] = "!submit: CRITICAL: job submission failed"
			eventually(t, at+"?critical=submit", warned)
		})
	}
}

func TestRealGanglia(t *testing.T) {
	env := testbed.Env(t, "monitor")
	// This machine may be loaded, which warns of ce1.
	eventually(t, "ganglia://"+env["GRID_GANGLIA"]+"?silent=10", map[string]string{"ce1": "?", "ce2": "!no news for "})
}

func TestRealPrometheus(t *testing.T) {
	env := testbed.Env(t, "monitor")
	at := "prometheus+http://" + env["GRID_PROMETHEUS"]
	eventually(t, at, map[string]string{"ce1": "alert Watched", "ce2": "!alert CEDown"})
	eventually(t, at+"?critical="+url.QueryEscape("up == 0"), map[string]string{"ce2": "!up = 0"})
	m, err := Open(at+"?critical="+url.QueryEscape("up =="), Options{Ask: &ask.Client{HTTP: http.DefaultClient}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Troubles(t.Context(), watched); err == nil || !strings.Contains(err.Error(), "parse error") {
		t.Errorf("an expression that is none: %v", err)
	}
}
