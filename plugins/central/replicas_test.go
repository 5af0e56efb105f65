package central_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/plugins/central"
)

// twins are two replicas of a scheduler that share what they have taken.
type twins struct {
	mu    sync.Mutex
	taken map[string]int // by key
	asked [2]int
	fault [2]string
}

func (w *twins) replica(i int) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.asked[i]++
		if w.fault[i] == "hangs" {
			w.mu.Unlock()
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
			w.mu.Lock()
			return
		}
		var in struct {
			Jobs []struct{ Key string }
			IDs  []string
		}
		json.NewDecoder(r.Body).Decode(&in)
		switch w.fault[i] {
		case "database":
			http.Error(rw, `{"detail": "the database does not answer"}`, http.StatusServiceUnavailable)
			return
		case "busy":
			rw.Header().Set("Retry-After", "60")
			http.Error(rw, "too many requests", http.StatusTooManyRequests)
			return
		case "refuses":
			http.Error(rw, `{"detail": "closed on Sundays"}`, http.StatusForbidden)
			return
		}
		list := []map[string]any{}
		for _, j := range in.Jobs {
			w.taken[j.Key] = 1
			list = append(list, map[string]any{"key": j.Key, "id": "s" + j.Key})
		}
		for _, id := range in.IDs {
			list = append(list, map[string]any{"key": id[1:], "id": id, "plugins": plugins.Queued})
		}
		if w.fault[i] == "dies" { // after it has done what was asked
			panic(http.ErrAbortHandler)
		}
		json.NewEncoder(rw).Encode(map[string]any{"jobs": list})
	}))
}

// One replica is asked as long as it answers; where it does not the other one is, at once, and under
// the same keys. What a replica refuses, and that it is asked too often, is not asked elsewhere.
func TestReplicas(t *testing.T) {
	job, err := jdl.ParseJob("job.jdl", []byte(`Executable = "/bin/true";`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		fault  string // of the first
		asked  [2]int // by a submission and five looks
		closed bool   // the first is not there
		kind   plugins.Kind
	}{
		{name: "well", asked: [2]int{6, 0}},
		{name: "not there", closed: true, asked: [2]int{0, 6}},
		{name: "no database", fault: "database", asked: [2]int{1, 6}},
		{name: "dies in the middle", fault: "dies", asked: [2]int{1, 6}},
		{name: "hangs", fault: "hangs", asked: [2]int{1, 6}},
		{name: "refuses", fault: "refuses", asked: [2]int{1, 0}, kind: plugins.Credential},
		{name: "busy", fault: "busy", asked: [2]int{1, 0}, kind: plugins.Unavailable},
	} {
		w := &twins{taken: map[string]int{}, fault: [2]string{c.fault, ""}}
		a, b := w.replica(0), w.replica(1)
		defer a.Close()
		defer b.Close()
		if c.closed {
			a.Close()
		}
		back, err := central.Open(plugins.Config{Now: time.Now, Credentials: func() (*credential.Set, error) { return &credential.Set{}, nil }})
		if err != nil {
			t.Fatal(err)
		}
		at := strings.Replace(a.URL, "http", "grid+http", 1) + "?or=" + strings.TrimPrefix(b.URL, "http://")
		res := back.Submit(t.Context(), []plugins.Request{{ID: "k", Job: job, Endpoint: glue.Endpoint{URL: at, Interface: central.Interface}}}, nil)
		if e, _ := errors.AsType[*plugins.Error](res[0].Err); (e == nil) != (c.kind == 0) || e != nil && e.Kind != c.kind {
			t.Errorf("%s: %v", c.name, res[0].Err)
		}
		if c.kind == 0 {
			if res[0].Handle.Endpoint != at {
				t.Errorf("%s: kept as of %s, want %s", c.name, res[0].Handle.Endpoint, at)
			}
			for range 5 {
				if s := back.Status(t.Context(), []plugins.Handle{res[0].Handle}); s[0].State != plugins.Queued {
					t.Errorf("%s: %v", c.name, s[0])
				}
			}
		}
		if w.asked != c.asked || c.kind == 0 && len(w.taken) != 1 {
			t.Errorf("%s: asked %v, want %v; taken %v", c.name, w.asked, c.asked, w.taken)
		}
	}
}

// Commands that come after one which had to turn to another replica ask that one first, for a minute; with a clock that was
// set back, or a file that says what is not so, they begin as ever.
func TestLaterCommandsAskWhoAnswers(t *testing.T) {
	w := &twins{taken: map[string]int{}, fault: [2]string{"database", ""}}
	a, b := w.replica(0), w.replica(1)
	defer a.Close()
	defer b.Close()
	now, dir := time.Now(), t.TempDir()
	h := plugins.Handle{Interface: central.Interface, Endpoint: strings.Replace(a.URL, "http", "grid+http", 1) + "?or=" + strings.TrimPrefix(b.URL, "http://"), ID: "sk"}
	command := func(what string, asked ...int) {
		t.Helper()
		back, err := central.Open(plugins.Config{Now: func() time.Time { return now }, StateDir: dir, Credentials: func() (*credential.Set, error) { return &credential.Set{}, nil }})
		if err != nil {
			t.Fatal(err)
		}
		if s := back.Status(t.Context(), []plugins.Handle{h}); s[0].State != plugins.Queued {
			t.Errorf("%s: %v", what, s[0])
		}
		if w.asked != [2]int(asked) {
			t.Errorf("%s: asked %v, want %v", what, w.asked, asked)
		}
	}
	command("the first", 1, 1)
	command("the next", 1, 2)
	now = now.Add(59 * time.Second)
	command("a minute later", 1, 3)
	now = now.Add(2 * time.Second)
	command("after that", 2, 4)
	now = now.Add(-time.Hour)
	command("an hour back", 3, 5)
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	text, err := json.Marshal(map[string]any{"base": "https://elsewhere.example.org", "until": now.Add(30 * time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], text, 0o600); err != nil {
		t.Fatal(err)
	}
	command("a replica that is none", 4, 6)
}

// URLs that name several replicas.
func TestReplicaURLs(t *testing.T) {
	for url, good := range map[string]bool{
		"grid://a:1": true, "grid://a:1?or=b:2": true, "grid://a:1?or=b:2&or=c:3": true, "grid+http://127.0.0.1:1?or=localhost:2": true,
		"grid://a:1?or=": false, "grid://a:1?or=b:2/x": false, "grid://a:1?or=u@b:2": false, "grid://a:1?and=b:2": false, "grid://a:1?or=b:2&x=1": false,
		"grid+http://127.0.0.1:1?or=b.example.org:2": false, "grid://a:1?or=grid+http://b:2": false, "grid://a:1?" + strings.Repeat("or=b:1&", 16): false,
	} {
		back, _ := central.Open(plugins.Config{Now: time.Now, Credentials: func() (*credential.Set, error) { return nil, errors.New("asked for credentials") }})
		_, err := back.(plugins.Pinger).Ping(t.Context(), url)
		if e, _ := errors.AsType[*plugins.Error](err); e == nil || (e.Kind == plugins.Invalid) == good {
			t.Errorf("%s: %v", url, err)
		}
	}
}
