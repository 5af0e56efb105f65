package daemon

import (
	"crypto/tls"
	"crypto/x509"
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
// certificate goes to no path that somebody chose, an address without end
// is not kept with every job, and nobody hands jobs in for another host's broker.
func TestBrokersOfJobs(t *testing.T) {
	d := lonely(t)
	for broker, want := range map[string]int{
		"https://ui.example:7800": 200, "https://other.example:7800": 403, "": 400, "http://ui.example:7800": 400, "https://ui.example:7800/admin/delete?x=": 400,
		"https://a@ui.example": 400, "https://ui.example/#": 400, "https://" + strings.Repeat("a", 2<<20): 400, "file:///etc/passwd": 400,
	} {
		w := httptest.NewRecorder()
		body := fmt.Sprintf(`[{"id": "j%d", "broker": %q, "need": {"cpus": 1}, "submitted": 1}]`, len(broker), broker)
		r := httptest.NewRequest("POST", "/v1/jobs", strings.NewReader(body))
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{DNSNames: []string{"ui.example"}}}}
		d.Handler().ServeHTTP(w, r)
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

// jobOf is a job as a link brings it.
func jobOf(broker, tags string) managers.Job {
	return managers.Job{ID: "j", Broker: broker, Need: managers.Resources{CPUs: 1, Tags: tags}}
}

// What comes over a link is held to the same as what brokers hand in, and a job
// brings no burden along that every manager on its way has to carry.
func TestJobsOverLinks(t *testing.T) {
	d := lonely(t)
	c := newConn(t.Context(), "https://child.example:1")
	n, err := d.attach(c, managers.Child)
	if err != nil {
		t.Fatal(err)
	}
	d.up(n)
	for _, bad := range []managers.Job{jobOf("https://ui.example/admin?x=", ""), jobOf("", ""), jobOf("https://ui.example", strings.Repeat("t", 5000))} {
		if err := d.take(n, c, frame{Message: &managers.Message{Job: &bad}}); err == nil {
			t.Errorf("%.60v is taken", bad)
		}
	}
	good := jobOf("https://ui.example:7800", "VEE-A")
	if err := d.take(n, c, frame{Message: &managers.Message{Job: &good}}); err != nil {
		t.Error(err)
	}
}

// A broker orders about its own jobs: what it says of others' changes nothing,
// however much it says.
func TestBrokersOrderTheirOwnJobs(t *testing.T) {
	var orders Orders
	broker := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writeBody(w, orders) }))
	defer broker.Close()
	d := lonely(t)
	d.config.Client = broker.Client()
	list := make([]managers.Job, 20_000)
	for i := range list {
		list[i] = managers.Job{ID: managers.ID(fmt.Sprint("w", i)), Broker: "https://other.example", Need: managers.Resources{CPUs: 1}}
	}
	list[0].Broker = broker.URL
	if err := d.Submit(list); err != nil {
		t.Fatal(err)
	}
	d.held[managers.Key{Broker: "https://other.example", ID: "theirs"}] = &assignment{Job: managers.Job{ID: "theirs", Broker: "https://other.example"}, Granted: true}
	d.held[managers.Key{Broker: broker.URL, ID: "own"}] = &assignment{Job: managers.Job{ID: "own", Broker: broker.URL}, Granted: true}
	orders = Orders{Ended: []managers.ID{"theirs", "own", "own"}}
	for i := range 5_000 {
		orders.Drop = append(orders.Drop, managers.ID(fmt.Sprint("w", i)))
	}
	r := d.reports()[broker.URL]
	testbed.Within(t, 3*time.Second, 400<<20, func() { d.report(broker.URL, r) })
	if s := d.State(); len(s.Waiting) != len(list)-1 || fmt.Sprint(s.Running) != "[theirs]" {
		t.Errorf("%d of %d wait, %v run", len(s.Waiting), len(list), s.Running)
	}
}

// Brokers that do not answer are waited for a few at a time, do not keep those
// that do from their reports, and after a while their jobs do not wait any more.
func TestSilentBrokers(t *testing.T) {
	d := lonely(t)
	const n = 1000
	var list []managers.Job
	for i := range n {
		list = append(list, managers.Job{ID: managers.ID(fmt.Sprint("j", i)), Broker: fmt.Sprintf("https://dead%d.example", i), Need: managers.Resources{CPUs: 1}})
	}
	list[7].Broker = "https://alive.example"
	if err := d.Submit(list); err != nil {
		t.Fatal(err)
	}
	d.brokers["https://alive.example"] = &acquaintance{answers: true, heard: time.Now()}
	first, second := d.due(), d.due()
	if first["https://alive.example"] == nil || len(first) > maxReports+1 || len(second) > 0 {
		t.Errorf("%d and %d reports at once", len(first), len(second))
	}
	for name, a := range d.brokers {
		if name != "https://alive.example" {
			a.heard = a.heard.Add(-brokerSilence - time.Second)
		}
	}
	d.due()
	if s := d.State(); fmt.Sprint(s.Waiting) != "[j7]" {
		t.Errorf("%d jobs wait", len(s.Waiting))
	}
	if err := d.Submit(make([]managers.Job, maxWaiting+1)); err != ErrFull {
		t.Errorf("jobs without end: %v", err)
	}
}
