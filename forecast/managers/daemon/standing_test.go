package daemon

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// switching is a member whose authorities may change.
func (a *authority) switching(t *testing.T) (cfg *tls.Config, authorities *atomic.Pointer[x509.CertPool]) {
	t.Helper()
	cert, key := a.issue(t)
	cfg, err := tlsConfig(a.cert.Raw, cert, key)
	if err != nil {
		t.Fatal(err)
	}
	authorities = new(atomic.Pointer[x509.CertPool])
	authorities.Store(believed(cfg)().Roots())
	own, err := cfg.GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	return TLS(func() *tls.Certificate { return own }, inForce(authorities)), authorities
}

// An authority that is taken out speaks for nobody any more, also not on connections that were made before: its members are
// refused and their connection ended, and are asked nothing over one that was kept.
func TestAuthorityThatIsTakenOut(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	server, ofServer := a.switching(t)
	config, ofClient := a.switching(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int32
	s := Server(server, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer s.Close()
	go s.ServeTLS(l, "", "")
	c := Client(config)
	ask := func() (status int, said string, err error) {
		resp, err := c.Get("https://" + l.Addr().String())
		if err != nil {
			return 0, "", err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return resp.StatusCode, string(text), err
	}
	both, none := ofServer.Load(), x509.NewCertPool()
	none.AddCert(newAuthority(t).cert)
	for range 2 {
		if status, said, err := ask(); err != nil || status != http.StatusOK {
			t.Fatal(status, said, err)
		}
	}
	ofServer.Store(none)
	if status, said, err := ask(); err != nil || status != http.StatusUnauthorized || !strings.Contains(said, "not believed any more") {
		t.Errorf("on the connection that was kept: %d %q %v", status, said, err)
	}
	if status, said, err := ask(); err == nil {
		t.Errorf("on the next one: %d %q", status, said)
	}
	ofServer.Store(both)
	if status, said, err := ask(); err != nil || status != http.StatusOK {
		t.Fatal("with the authority again:", status, said, err)
	}
	before := asked.Load()
	ofClient.Store(none)
	if status, said, err := ask(); err == nil || asked.Load() != before {
		t.Errorf("a server of nobody's is asked: %d %q", status, said)
	}
}

// A link ends within a beat where the authority of the other side is taken out, and goes on where others were read.
func TestLinksEndWithTheirAuthorities(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	der, _ := a.issue(t)
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := func(list ...*x509.Certificate) *x509.CertPool {
		p := x509.NewCertPool()
		for _, c := range list {
			p.AddCert(c)
		}
		return p
	}
	other := newAuthority(t).cert
	var authorities atomic.Pointer[x509.CertPool]
	authorities.Store(pool(a.cert))
	c := newConn(t.Context(), "https://localhost:1")
	c.shows(&tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}}, inForce(&authorities))
	const beat = 50 * time.Millisecond
	var beats atomic.Int32
	go c.write(io.Discard, func() { beats.Add(1); c.heard() }, beat)
	within(t, func() bool { return beats.Load() > 1 })
	authorities.Store(pool(a.cert, other))
	n := beats.Load()
	within(t, func() bool { return beats.Load() > n+1 || c.ctx.Err() != nil })
	if c.ctx.Err() != nil {
		t.Fatal("it ended with an authority more")
	}
	authorities.Store(pool(other))
	within(t, func() bool { return c.ctx.Err() != nil })
}

func within(t *testing.T, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not within 20 s")
		}
	}
}

// revoking are authorities that change their mind.
type revoking struct {
	only
	why error
}

// Check implements Authorities.
func (r revoking) Check([][]*x509.Certificate) error { return r.why }

// A certificate that is revoked is believed no more: not at a handshake of either side, not on a connection that was kept, not on a
// link, and not under a passport.
func TestRevokedCertificates(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	cfg, pool := a.switching(t)
	own, err := cfg.GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	var now atomic.Pointer[revoking]
	now.Store(&revoking{only: only{pool.Load()}})
	revoke := func() {
		again := x509.NewCertPool()
		again.AddCert(a.cert)
		now.Store(&revoking{only{again}, errors.New("it was revoked")})
	}
	theirs := TLS(func() *tls.Certificate { return own }, func() Authorities { return *now.Load() })
	s := httptest.NewUnstartedServer(nil)
	s.Config = Server(theirs, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = s.Config.TLSConfig
	s.StartTLS()
	defer s.Close()
	client := Client(cfg)
	ask := func(c *http.Client) (status int) {
		resp, err := c.Get(s.URL)
		if err != nil {
			return 0
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	link := newConn(t.Context(), "https://localhost:1")
	leaf, err := x509.ParseCertificate(own.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	link.shows(&tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}}, func() Authorities { return *now.Load() })
	go link.write(io.Discard, link.heard, 20*time.Millisecond)
	job := jobOf("https://127.0.0.1:1", "")
	if err := seal(&job, own); err != nil {
		t.Fatal(err)
	}
	job.Papers.Chain = own.Certificate
	papers := passports{authorities: func() Authorities { return *now.Load() }}
	if status := ask(client); status != http.StatusOK || papers.check(&job) != nil {
		t.Fatal(status, papers.check(&job))
	}
	revoke()
	if status := ask(client); status != http.StatusUnauthorized {
		t.Errorf("on the connection that was kept: %d", status)
	}
	if status := ask(client); status != 0 {
		t.Errorf("a server shakes hands with it: %d", status)
	}
	if status := ask(Client(theirs)); status != 0 {
		t.Errorf("a client shakes hands with it: %d", status)
	}
	if err := papers.check(&job); err == nil || !strings.Contains(err.Error(), "revoked") {
		t.Errorf("a passport: %v", err)
	}
	within(t, func() bool { return link.ctx.Err() != nil })
}
