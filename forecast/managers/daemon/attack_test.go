package daemon

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gridbroker/forecast/managers"
	"gridbroker/testdata/testbed"
)

func lonely(t *testing.T) *Daemon {
	t.Helper()
	d, err := New(t.Context(), Config{Name: "https://m.example:1", Dir: t.TempDir(), Client: http.DefaultClient})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.keep.close() })
	return d
}

// A job's broker is a host and port: what is posted with the manager's
// certificate goes to no path that somebody chose, and an address without end
// is not kept with every job.
func TestBrokersOfJobs(t *testing.T) {
	d := lonely(t)
	for broker, want := range map[string]int{
		"https://ui.example:7800": 200, "": 400, "http://ui.example:7800": 400, "https://ui.example:7800/admin/delete?x=": 400,
		"https://a@ui.example": 400, "https://ui.example/#": 400, "https://" + strings.Repeat("a", 2<<20): 400, "file:///etc/passwd": 400,
	} {
		w := httptest.NewRecorder()
		body := fmt.Sprintf(`[{"id": "j%d", "broker": %q, "need": {"cpus": 1}, "submitted": 1}]`, len(broker), broker)
		d.Handler().ServeHTTP(w, httptest.NewRequest("POST", "/v1/jobs", strings.NewReader(body)))
		if w.Code != want {
			t.Errorf("%.60q: %d %s, want %d", broker, w.Code, w.Body, want)
		}
	}
	r := httptest.NewRequest("POST", "/v1/ended", strings.NewReader(`{"job": "j"}`))
	r.Header.Set("Origin", "https://evil.example")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	w := httptest.NewRecorder()
	if d.Handler().ServeHTTP(w, r); w.Code != 403 {
		t.Errorf("another site's page: %d", w.Code)
	}
}

// Many jobs at once hold nobody up: each is looked for once among those that wait.
func TestManyJobsAtOnce(t *testing.T) {
	d := lonely(t)
	list := make([]managers.Job, 60_000)
	for i := range list {
		list[i] = managers.Job{ID: managers.ID(fmt.Sprint("j", i)), Broker: "https://ui.example:7800", Need: managers.Resources{CPUs: 1}}
	}
	testbed.Within(t, 3*time.Second, 400<<20, func() { d.Submit(list) })
	if got := len(d.State().Waiting); got != len(list) {
		t.Errorf("%d of %d wait", got, len(list))
	}
	d.Submit(list[:100])
	if got := len(d.State().Waiting); got != len(list) {
		t.Errorf("%d of %d wait after some were handed in again", got, len(list))
	}
}
