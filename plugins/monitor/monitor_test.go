package monitor

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/plugins"
	"gridbroker/plugins/ask"
	"gridbroker/testdata/testbed"
)

// captured is when the files of testdata were written by Nagios 4.4.6, Ganglia
// 3.7.2 and Prometheus 2.42.
var captured = time.Unix(1795237800, 0)

var ces = []*glue.Resource{
	{ID: "1", CE: "ce1.example.org"}, {ID: "2", CE: "CE2.example.org"}, {ID: "3", CE: "ce3"}, {ID: "3x", CE: "ce3.elsewhere.org"}, {ID: "none"},
}

// capture serves testdata by the query.
func capture(t *testing.T) *httptest.Server {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		name := req.URL.Query().Get("query")
		for expr, file := range map[string]string{alerts: "alerts", "up == 0": "up", "up ==": "error", "1": "scalar"} {
			if name == expr {
				name = file
			}
		}
		text, err := os.ReadFile(filepath.Join("testdata", filepath.Base(name)+".json"))
		if err != nil || name == "error" {
			w.WriteHeader(http.StatusBadRequest)
		}
		w.Write(text)
	}))
	t.Cleanup(srv.Close)
	return srv
}

func TestTroubles(t *testing.T) {
	web := capture(t).URL
	file, err := filepath.Abs("testdata/status.dat")
	if err != nil {
		t.Fatal(err)
	}
	submit := "?critical=" + url.QueryEscape("org.nordugrid.*")
	for name, c := range map[string]struct {
		url  string
		want map[string]string // ! marks what forbids
	}{
		"status.dat":    {"nagios:" + file + submit, map[string]string{"1": "disk: disk 85 percent", "2": "!job submission failed: connection refused", "3": "!org.nordugrid.ARC-CE-submit: job submission failed: connection refused"}},
		"only warnings": {"nagios:" + file, map[string]string{"1": "disk: disk 85 percent", "2": "!job submission failed: connection refused", "3": "org.nordugrid.ARC-CE-submit: job submission failed: connection refused"}},
		"statusjson":    {"nagios+" + web + "/cgi" + submit, map[string]string{"1": "disk: disk 85 percent", "2": "!job submission failed: connection refused", "3": "!org.nordugrid.ARC-CE-submit: job submission failed: connection refused"}},
		"alerts":        {"prometheus+" + web, map[string]string{"2": "!alert CEDown"}},
		"expression":    {"prometheus+" + web + "?warning=" + url.QueryEscape("up == 0"), map[string]string{"2": "up = 0"}},
		"ganglia":       {"ganglia://" + serveXML(t, nil), nil},
		"silent":        {"ganglia://" + serveXML(t, map[string]string{`TN="0"`: `TN="81"`}), map[string]string{"1": "!no news for 81 s"}},
		"loaded": {"ganglia://" + serveXML(t, map[string]string{"</HOST>": `<METRIC NAME="load_one" VAL="9.5"/><METRIC NAME="cpu_num" VAL="4"/></HOST>`}),
			map[string]string{"1": "load 9.5 on 4 CPUs"}},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := Open(c.url, Options{Ask: &ask.Client{HTTP: http.DefaultClient}, Now: func() time.Time { return captured }})
			if err != nil {
				t.Fatal(err)
			}
			got, err := m.Troubles(t.Context(), ces)
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, c.want)
		})
	}
}

func same(t *testing.T, got map[string]plugins.Trouble, want map[string]string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d troubles, want %d: %+v", len(got), len(want), got)
	}
	for id, w := range want {
		said := got[id].Said
		if got[id].Critical {
			said = "!" + said
		}
		if said != w {
			t.Errorf("%s: %q, want %q", id, said, w)
		}
	}
}

// serveXML hands the captured XML of gmetad to whoever connects.
func serveXML(t *testing.T, replace map[string]string) string {
	text, err := os.ReadFile("testdata/gmetad.xml")
	if err != nil {
		t.Fatal(err)
	}
	for old, with := range replace {
		text = bytes.ReplaceAll(text, []byte(old), []byte(with))
	}
	return testbed.Listen(t, func(conn net.Conn) { conn.Write(text) })
}

func TestOldChecksSayNothing(t *testing.T) {
	m, err := Open("nagios:"+mustAbs(t, "testdata/status.dat"), Options{Now: func() time.Time { return captured.Add(24 * time.Hour) }})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := m.Troubles(t.Context(), ces); err != nil || len(got) != 0 {
		t.Errorf("%+v %v", got, err)
	}
}

func mustAbs(t *testing.T, name string) string {
	t.Helper()
	name, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func TestErrors(t *testing.T) {
	web := capture(t).URL
	for raw, want := range map[string]string{
		"zabbix://x":                            "no such kind of monitor",
		"nagios:":                               "want nagios:/path",
		"nagios:/x?critical=[":                  "syntax error in pattern",
		"nagios:/x?criticl=a":                   "no such parameter: criticl",
		"ganglia://h?silent=-1":                 "no number of seconds",
		"nagios:" + t.TempDir() + "/missing":    "no such file",
		"prometheus+" + web + "?critical=up+==": "parse error",
		"prometheus+" + web + "?critical=1":     "gives a scalar",
		"nagios+" + web + "/nothing":            "",
		"ganglia://127.0.0.1:1":                 "connection refused",
	} {
		m, err := Open(raw, Options{Ask: &ask.Client{HTTP: http.DefaultClient}, Now: time.Now})
		if err == nil {
			_, err = m.Troubles(t.Context(), ces)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %s", raw, err, want)
		}
	}
}

// A pipe in the place of a status file is told at once: nobody may ever open its other end.
func TestPipeForStatusFile(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "status.dat")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := Open("nagios:"+pipe, Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan error, 1)
	go func() {
		_, err := m.Troubles(t.Context(), ces)
		told <- err
	}()
	select {
	case err := <-told:
		if err == nil || !strings.Contains(err.Error(), pipe+" is no regular file") {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("its other end is waited for")
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"status.dat", "hostlist.json", "servicelist.json", "gmetad.xml", "alerts.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text[:min(len(text), 3000)])
	}
	n := nagios{"*", func() time.Time { return captured }}
	f.Fuzz(func(t *testing.T, text []byte) {
		if checks, err := parseStatus(bytes.NewReader(text)); err == nil {
			n.reports(checks)
		}
		if checks, err := parseStatusJSON(text); err == nil {
			n.reports(checks)
		}
		parseGanglia(io.LimitReader(bytes.NewReader(text), 1<<20), 0, captured)
		parsePrometheus(text, true)
	})
}
