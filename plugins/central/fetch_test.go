package central_test

import (
	"encoding/json"
	"io"
	"io/fs"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/plugins"
	"gridbroker/plugins/central"
)

// keeping is a scheduler that keeps these files of a job.
func keeping(t *testing.T, names ...string) (*central.Backend, string) {
	return against(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			json.NewEncoder(w).Encode(map[string]any{"jobs": []any{map[string]any{"id": "x", "plugins": "done", "output": names}}})
			return
		}
		io.WriteString(w, "text")
	})
}

// What a scheduler calls a file leads nowhere but below the job's directory.
func TestHostileNames(t *testing.T) {
	for _, name := range []string{"../out", "a/../../out", "/out", "..", ".", "", "a//../../../out", "link/out", "back/../link/out", strings.Repeat("n", 300), "a\x00b"} {
		b, url := keeping(t, name)
		outer := t.TempDir()
		dir := filepath.Join(outer, "job")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("..", filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		r := b.Fetch(t.Context(), []plugins.FetchRequest{{Handle: plugins.Handle{Endpoint: url, ID: "x"}, Dir: dir}}, nil)[0]
		if r.Err == nil || len(r.Files) > 0 {
			t.Errorf("%.20q was taken: %v", name, r.Files)
		}
		filepath.WalkDir(outer, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && !strings.HasPrefix(path, dir+"/") {
				t.Errorf("%.20q lies at %s", name, path)
			}
			return err
		})
	}
}

// Files are asked for by name, pattern and directory as at any other back-end, and what there is not is told.
func TestWantedFiles(t *testing.T) {
	for _, c := range []struct {
		want  []string
		files string
		err   string
	}{
		{nil, "a.log b.log plots/one.png plots/two.png", ""},
		{[]string{"a.log"}, "a.log", ""},
		{[]string{"*.log"}, "a.log b.log", ""},
		{[]string{"plots"}, "plots/one.png plots/two.png", ""},
		{[]string{"./plots/one.png"}, "plots/one.png", ""},
		{[]string{"a.log", "c.log"}, "a.log", "fetch c.log"},
		{[]string{"*.root"}, "", "fetch *.root"},
	} {
		b, url := keeping(t, "a.log", "b.log", "plots/one.png", "plots/two.png")
		r := b.Fetch(t.Context(), []plugins.FetchRequest{{Handle: plugins.Handle{Endpoint: url, ID: "x"}, Dir: t.TempDir(), Want: c.want}}, nil)[0]
		said := ""
		if r.Err != nil {
			said = r.Err.Error()
		}
		if got := strings.Join(r.Files, " "); got != c.files || (c.err == "") != (r.Err == nil) || !strings.Contains(said, c.err) {
			t.Errorf("%v: %s, %v; want %s, %s", c.want, got, r.Err, c.files, c.err)
		}
	}
}

// An address that is none of a scheduler's is refused, and a password in it is not shown.
func TestAddresses(t *testing.T) {
	b, _ := keeping(t)
	for raw, want := range map[string]string{
		"grid://sched.example.org:6120": "grid://sched.example.org:6120", "grid://sched.example.org/": "grid://sched.example.org",
		"grid+http://127.0.0.1:1": "grid+http://127.0.0.1:1", "grid+http://[::1]:1": "grid+http://[::1]:1",
		"grid+http://sched.example.org": "", "grid+http://127.0.0.1.example.org": "", "grid:": "", "grid:///x": "", "grid://host/v1": "",
		"grid://host?a=b": "", "grid://host#a": "", "ftp://host": "", "grid://user:secret@host": "", "grid+http://user:secret@127.0.0.1": "",
	} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		s, err := b.Source(u)
		if want == "" {
			if err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %v", raw, err)
			}
			if st := b.Status(t.Context(), []plugins.Handle{{Endpoint: raw, ID: "x"}})[0]; st.Err == nil || strings.Contains(st.Err.Error(), "secret") {
				t.Errorf("%s: status: %v", raw, st.Err)
			}
		} else if err != nil || s.Name() != want {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

// Times and lengths that a scheduler makes up are none, or ones that can be added.
func TestTimesOfJobs(t *testing.T) {
	for _, c := range []struct {
		started, ended int64
		want           time.Duration
	}{
		{1000, 1060, time.Minute}, {0, 1060, 0}, {1000, 0, 0}, {1060, 1000, 0}, {-5, 1000, 0},
		{1, math.MaxInt64, 0}, {math.MinInt64, math.MaxInt64, 0}, {1, 1 << 40, 0},
	} {
		b, url := against(t, func(w http.ResponseWriter, _ *http.Request) {
			json.NewEncoder(w).Encode(map[string]any{"jobs": []any{map[string]any{"id": "x", "plugins": "done", "started": c.started, "ended": c.ended}}})
		})
		st := b.Status(t.Context(), []plugins.Handle{{Endpoint: url, ID: "x"}})[0]
		if st.Err != nil || st.WallTime != c.want {
			t.Errorf("%d to %d: %v %v, want %v", c.started, c.ended, st.WallTime, st.Err, c.want)
		}
	}
}

// A log of others is lines of one entry each, whatever the entries say; one whose entries have no numbers is not read on.
func TestLog(t *testing.T) {
	b, url := against(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.EscapedPath() != "/v1/jobs/x%2F..%2Fy/log" {
			t.Errorf("asked for %s", r.URL.EscapedPath())
		}
		io.WriteString(w, `{"entries":[{"At":1000,"Event":"enter"},{"At":2000,"Event":"book","Cluster":"one","Said":"from\n12:00"}]}`)
	})
	var text strings.Builder
	if err := b.Log(t.Context(), plugins.Handle{Endpoint: url, ID: "x/../y"}, &text); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	at := func(second int64) string { return time.Unix(second, 0).Format("2006-01-02T15:04:05.000Z07:00") }
	if !slices.Equal(lines, []string{at(1) + " enter", at(2) + ` book one from\n12:00`}) {
		t.Errorf("%q", lines)
	}
}
