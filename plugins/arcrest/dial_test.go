package arcrest

import (
	"crypto/tls"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gridbroker/credential"
	"gridbroker/plugins"
)

// curves notes which curves a server is offered, attempt by attempt, and
// accepts one of its own.
type curves struct {
	mu   sync.Mutex
	seen [][]tls.CurveID
}

func (c *curves) accept(f *fake, curve tls.CurveID) {
	base := f.Server.TLS
	base.CurvePreferences = []tls.CurveID{curve}
	base.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.seen = append(c.seen, h.SupportedCurves)
		return nil, nil
	}
}

func TestCurvesOffered(t *testing.T) {
	for _, tt := range []struct {
		curve    tls.CurveID
		attempts int
	}{{tls.CurveP521, 1}, {tls.X25519, 2}, {tls.CurveP256, 2}} {
		f := newUnstartedFake(t, func(w http.ResponseWriter, _ *http.Request, _ string) bool { list(w, "PREPARED"); return true })
		var c curves
		c.accept(f, tt.curve)
		f.StartTLS()
		if st := f.status(t); st.Err != nil || st.State != plugins.Queued {
			t.Errorf("%v: %+v", tt.curve, st)
		}
		if len(c.seen) != tt.attempts || len(c.seen[0]) != 1 || c.seen[0][0] != tls.CurveP521 {
			t.Errorf("%v: offered %v", tt.curve, c.seen)
		}
	}
}

// A CE with a certificate of an authority that the system trusts, and the
// grid's directory does not have, gets jobs and credentials only where the
// user named it. The system's authorities are read once in a
// process: the test runs in one of its own.
func TestSystemAuthority(t *testing.T) {
	const child = "GRID_TEST_SYSTEM_AUTHORITY"
	if os.Getenv(child) == "" {
		p := newPKI(t)
		cmd := exec.Command(os.Args[0], "-test.run=^TestSystemAuthority$")
		cmd.Env = append(os.Environ(), child+"="+p.dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	f := newFake(t, func(w http.ResponseWriter, _ *http.Request, _ string) bool { list(w, "PREPARED"); return true })
	ask := func(named ...string) error {
		o := f.pki.user
		o.PublicCAs = named
		o.CertDir, o.CAs = os.Getenv(child), credential.AnyCA
		set, err := credential.Discover(credential.Env{UID: os.Getuid()}, o)
		check(t, err)
		b := New(Options{Credentials: func() (*credential.Set, error) { return set, nil }})
		defer b.Close()
		return b.Status(t.Context(), []plugins.Handle{{Endpoint: f.url(), ID: "job1"}})[0].Err
	}
	t.Setenv("SSL_CERT_DIR", t.TempDir())
	t.Setenv("SSL_CERT_FILE", filepath.Join(f.pki.dir, "ca.pem"))
	if err := ask("127.0.0.*"); err != nil {
		t.Error(err)
	}
	seen := len(f.seen)
	err := ask("ce.example.org")
	if p, ok := errors.AsType[*credential.Finding](err); !ok || p.ID != "server.public-ca" || len(f.seen) != seen {
		t.Errorf("%v, and %d requests", err, len(f.seen)-seen)
	}
	f.Server.Close()
	f = newFake(t, nil) // of yet another authority
	var e *plugins.Error
	if err := ask("*"); !errors.As(err, &e) || e.Kind != plugins.Unavailable || !strings.Contains(err.Error(), "X509_CERT_DIR") {
		t.Error(err)
	}
}
