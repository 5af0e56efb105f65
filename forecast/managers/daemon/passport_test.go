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
)

// certified is a manager that checks passports by an authority, and the certificate of a broker at 127.0.0.1.
func certified(t *testing.T) (*Daemon, *tls.Config) {
	t.Helper()
	ca := newAuthority(t)
	cert, key := ca.issue(t)
	cfg, err := tlsConfig(ca.cert.Raw, cert, key)
	if err != nil {
		t.Fatal(err)
	}
	d, err := New(t.Context(), Config{Name: "https://m.example:1", Dir: t.TempDir(), Client: http.DefaultClient, Authorities: believed(cfg)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.keep.close() })
	return d, cfg
}

// What a link brings is signed by the broker that it names, as it is: nobody on the way asks
// for more than the broker did, gives the job to another, or makes one up.
func TestPassportsAreTheBrokers(t *testing.T) {
	d, cfg := certified(t)
	_, strangers := certified(t)
	c := newConn(t.Context(), "https://child.example:1")
	n, err := d.attach(c, managers.Child)
	if err != nil {
		t.Fatal(err)
	}
	d.up(n)
	own := func(cfg *tls.Config) func(j *managers.Job) {
		return func(j *managers.Job) {
			if err := seal(j, &cfg.Certificates[0]); err != nil {
				t.Fatal(err)
			}
			j.Papers.Chain = cfg.Certificates[0].Certificate
		}
	}
	good := own(cfg)
	for name, tc := range map[string]struct {
		lie  func(j *managers.Job)
		want string
	}{
		"as its broker wrote it":   {good, ""},
		"further on its way":       {func(j *managers.Job) { good(j); j.Hops, j.Placed = 7, true }, ""},
		"no signature":             {func(j *managers.Job) { good(j); j.Papers.Seal = nil }, "not signed by its broker"},
		"nothing":                  {func(*managers.Job) {}, "not signed"},
		"no certificate":           {func(j *managers.Job) { good(j); j.Papers.Chain = nil }, "0 certificates"},
		"of another authority":     {own(strangers), "unknown authority"},
		"another broker's address": {func(j *managers.Job) { j.Broker = "https://gone.example:1"; good(j) }, "not that of gone.example"},
		"another port":             {func(j *managers.Job) { good(j); j.Broker = "https://127.0.0.1:2" }, "not signed by its broker"},
		"more processors":          {func(j *managers.Job) { good(j); j.Need.CPUs = 1000 }, "not signed by its broker"},
		"older than it is":         {func(j *managers.Job) { good(j); j.Submitted = 0 }, "not signed by its broker"},
		"before others":            {func(j *managers.Job) { good(j); j.Priority = 9 }, "not signed by its broker"},
		"handed in again":          {func(j *managers.Job) { good(j); j.Attempt = 9 }, "not signed by its broker"},
		"a job like it":            {func(j *managers.Job) { good(j); j.ID += "x" }, "not signed by its broker"},
		"certificates without end": {func(j *managers.Job) { good(j); j.Papers.Chain = [][]byte{j.Papers.Chain[0], make([]byte, 64<<10)} }, "2 certificates of"},
		"no certificate's bytes":   {func(j *managers.Job) { good(j); j.Papers.Chain = [][]byte{{1, 2, 3}} }, "malformed"},
	} {
		j := managers.Job{ID: managers.ID(name), Broker: "https://127.0.0.1:1", Need: managers.Resources{CPUs: 1}, Submitted: 5, Attempt: 1}
		tc.lie(&j)
		if err := d.take(n, c, frame{Message: &managers.Message{Job: &j}}); err != nil {
			t.Errorf("%s: the link ends: %v", name, err)
		}
		why := ""
		for len(c.out) > 0 {
			if f := <-c.out; f.Refused != "" {
				why = f.Refused
			}
		}
		waits := strings.Contains(fmt.Sprintf("%q", d.State().Waiting), fmt.Sprintf("%q", j.ID))
		if waits != (tc.want == "") || !strings.Contains(why, tc.want) {
			t.Errorf("%s: waits: %v, refused: %q, want %q", name, waits, why, tc.want)
		}
	}
}

// Who was believed by an authority that is taken out is believed no more.
func TestPassportsByTheAuthoritiesOfNow(t *testing.T) {
	d, cfg := certified(t)
	before, others := believed(cfg)().Roots(), x509.NewCertPool()
	j := managers.Job{ID: "j", Broker: "https://127.0.0.1:1", Need: managers.Resources{CPUs: 1}, Submitted: now()}
	if err := seal(&j, &cfg.Certificates[0]); err != nil {
		t.Fatal(err)
	}
	j.Papers.Chain = cfg.Certificates[0].Certificate
	for i, pool := range []*x509.CertPool{before, before, others, before} {
		d.papers.authorities = func() Authorities { return only{pool} }
		if err := d.papers.check(&j); (err == nil) != (pool == before) {
			t.Errorf("time %d: %v", i, err)
		}
	}
}

// A broker's own signature is checked when it hands jobs in, and its clock is not far ahead.
func TestHandedInWithSignature(t *testing.T) {
	d, cfg := certified(t)
	hand := func(j managers.Job) (int, string) {
		var code int
		var said string
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rec := httptest.NewRecorder()
			d.Handler().ServeHTTP(rec, r)
			code, said = rec.Code, rec.Body.String()
			w.WriteHeader(rec.Code)
			w.Write(rec.Body.Bytes())
		}))
		s.TLS = cfg.Clone()
		s.StartTLS()
		defer s.Close()
		b := &Broker{Name: j.Broker, Manager: s.URL, Client: Client(cfg), Own: cfg.Certificates[0]}
		b.init(nil)
		b.jobs[j.ID] = &brokered{job: j}
		b.handIn(t.Context())
		return code, said
	}
	j := managers.Job{ID: "j", Broker: "https://127.0.0.1:1", Need: managers.Resources{CPUs: 1}, Submitted: now()}
	if code, said := hand(j); code != 200 || len(d.State().Waiting) != 1 {
		t.Errorf("%d %s, %v wait", code, said, d.State().Waiting)
	}
	j.ID, j.Submitted = "ahead", time.Now().Add(time.Hour).UnixMilli()
	if code, said := hand(j); code != 400 || !strings.Contains(said, "set the clocks") {
		t.Errorf("an hour ahead: %d %s", code, said)
	}
}

// What was seen of a job before its broker handed it in again is not held against who brings it now.
func TestHandedInAgainIsNew(t *testing.T) {
	g := guests{signed: true}
	j := managers.Job{ID: "j", Attempt: 1}
	for range maxBounces {
		g.goes(&j, "x")
		g.comes(&j, "x")
	}
	again := managers.Job{ID: "j", Attempt: 2}
	if g.bounces(&j, "x") == nil || g.bounces(&again, "x") != nil {
		t.Errorf("the first attempt: %v, the second: %v", g.bounces(&j, "x"), g.bounces(&again, "x"))
	}
	if g.comes(&again, "x"); again.Hops != 0 {
		t.Errorf("it has %d hops", again.Hops)
	}
	g.goes(&again, "x")
	g.comes(&j, "x")
	if g.bounces(&again, "x") != nil {
		t.Error("the second attempt is held to the bounces of the first")
	}
}

// A second copy that is to start gives back what it was given, and the first keeps what it has.
func TestCopiesThatStart(t *testing.T) {
	total := managers.Resources{CPUs: 8}
	d, err := New(t.Context(), Config{Name: "https://m.example:1", System: "here", Total: total, Dir: t.TempDir(), Client: http.DefaultClient})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.work.Wait(); d.keep.close() })
	for _, cpus := range []int{2, 3} {
		j := managers.Job{ID: "j", Broker: "https://127.0.0.1:1", Need: managers.Resources{CPUs: cpus}}
		d.do(func(now int64) *managers.Out { return d.manager.Submit(now, j) })
	}
	if s := d.State(); s.Free.CPUs != 6 || len(s.Running) != 1 {
		t.Errorf("%d of 8 processors are free, %v run", s.Free.CPUs, s.Running)
	}
	if d.release(managers.Key{Broker: "https://127.0.0.1:1", ID: "j"}); d.State().Free.CPUs != 8 {
		t.Errorf("%d of 8 processors are free in the end", d.State().Free.CPUs)
	}
}
