package doctor_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/credential/doctor"
	"gridbroker/credential/oidc"
	"gridbroker/credential/voms"
	"gridbroker/testdata/testbed"
)

const vo = "testers.example.org"

// world is a user's machine with nothing wrong: a directory of authorities, a
// proxy with VOMS attributes, a VOMS server. Tests spoil one thing each.
type world struct {
	t     *testing.T
	dir   string
	now   time.Time     // the true time
	shift time.Duration // how far this machine's clock is ahead
	ca    *testbed.CA
	base  string // its files, without extension
	alice testbed.Identity
	voms  testbed.Identity
	uid   int
	env   map[string]string
	opts  credential.Options
	url   string // of the endpoint to look at; "": none
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, dir: t.TempDir(), now: time.Now(), uid: os.Getuid(), opts: credential.Options{CAs: credential.GridCA}}
	w.ca = testbed.NewCA(t, "Test CA", w.now, nil)
	w.base = w.ca.Install(w.mkdir("certificates"), credential.NameHash(w.ca.Cert.RawSubject), "/DC=org/CN=Test CA")
	w.alice = w.ca.Issue("Alice", nil)
	w.voms = w.ca.Issue("voms.example.org", nil)
	w.env = map[string]string{"X509_CERT_DIR": w.path("certificates"), "X509_VOMS_DIR": w.path("vomsdir"), "X509_VOMSES": w.path("vomses"),
		"X509_USER_PROXY": w.path("proxy"), "XDG_RUNTIME_DIR": w.mkdir("run")}
	w.write("vomsdir/"+vo+"/voms.example.org.lsc", "/DC=org/CN=voms.example.org\n/DC=org/CN=Test CA\n", 0o644)
	w.proxy(credential.ProxyOptions{}, w.ac())
	return w
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

func (w *world) mkdir(name string) string {
	if err := os.MkdirAll(w.path(name), 0o700); err != nil {
		w.t.Fatal(err)
	}
	return w.path(name)
}

func (w *world) write(name, text string, mode os.FileMode) {
	w.t.Helper()
	testbed.WriteFile(w.t, w.path(name), []byte(text), mode)
}

func (w *world) remove(name string) {
	if err := os.RemoveAll(w.path(name)); err != nil {
		w.t.Fatal(err)
	}
}

// ac is an attribute certificate for Alice with nothing wrong.
func (w *world) ac() testbed.AC {
	return testbed.AC{Holder: w.alice.Cert, Issuer: w.voms.Cert, Key: w.voms.Key, VO: vo, Host: "voms.example.org:15000", FQANs: []string{"/" + vo + "/Role=NULL/Capability=NULL"},
		From: w.now.Add(-time.Hour), To: w.now.Add(12 * time.Hour), Chain: []*x509.Certificate{w.voms.Cert}}
}

func (w *world) user() *credential.X509 {
	x, err := credential.NewX509([]*x509.Certificate{w.alice.Cert}, w.alice.Key, "alice")
	if err != nil {
		w.t.Fatal(err)
	}
	return x
}

// proxy makes Alice's proxy anew.
func (w *world) proxy(o credential.ProxyOptions, acs ...testbed.AC) {
	w.t.Helper()
	for _, ac := range acs {
		parsed, err := voms.Parse(ac.DER(w.t))
		if err != nil {
			w.t.Fatal(err)
		}
		o.ACs = append(o.ACs, parsed)
	}
	o.Key = "ecdsa"
	if o.Now.IsZero() {
		o.Now = w.now
	}
	w.save(w.user(), o)
}

func (w *world) save(issuer *credential.X509, o credential.ProxyOptions) {
	w.t.Helper()
	p, err := issuer.NewProxy(o)
	if err == nil {
		err = p.Save(w.path("proxy"))
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// pem writes the proxy file from its parts, whatever they are.
func (w *world) pem(id testbed.Identity, more ...*x509.Certificate) {
	text := string(testbed.PEM(append([]*x509.Certificate{id.Cert}, more...)...)) + string(testbed.KeyPEM(w.t, id.Key))
	w.write("proxy", text, 0o600)
}

// token stores a token that nobody checks.
func (w *world) token(claims string) {
	w.env["BEARER_TOKEN_FILE"] = w.path("token")
	w.write("token", jwt(claims), 0o600)
}

func (w *world) credentialEnv() credential.Env {
	return credential.Env{UID: w.uid, Home: w.path("home"), Now: func() time.Time { return time.Now().Add(w.shift) }, Getenv: func(k string) string { return w.env[k] }}
}

// examine is what "grid auth doctor" does.
func (w *world) examine() []credential.Finding {
	d := doctor.Doctor{Env: w.credentialEnv(), Opts: w.opts, Logins: oidc.Store{Dir: w.path("logins")}, Timeout: 3 * time.Second}
	set, fs := d.Local(w.t.Context())
	if w.url != "" {
		fs = append(fs, d.Endpoint(w.t.Context(), w.url, set)...)
	}
	return fs
}

// ce is a fake computing element that verifies proxies as real ones do.
type ce struct {
	cert    tls.Certificate
	cas     string // directory; "": does not verify
	shift   time.Duration
	noAsk   bool
	names   []*x509.Certificate // lists these authorities when asking
	date    bool                // sends a Date
	answer  func(http.ResponseWriter, *http.Request)
	wrap    func(net.Listener) net.Listener
	version uint16 // newest of TLS
}

// serve starts it and makes it the endpoint to look at.
func (w *world) serve(change func(*ce)) {
	c := &ce{cert: w.ca.Server(nil), cas: w.path("certificates"), answer: letIn, version: tls.VersionTLS13}
	if change != nil {
		change(c)
	}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !c.date {
			rw.Header()["Date"] = nil
		}
		c.answer(rw, r)
	}))
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{c.cert}, ClientAuth: tls.RequestClientCert, VerifyConnection: c.verify(w), MaxVersion: c.version}
	if c.noAsk {
		srv.TLS.ClientAuth = tls.NoClientCert
	}
	if c.names != nil {
		srv.TLS.ClientCAs = x509.NewCertPool()
		for _, n := range c.names {
			srv.TLS.ClientCAs.AddCert(n)
		}
	}
	srv.Config.ErrorLog = quiet()
	if c.wrap != nil {
		srv.Listener = c.wrap(srv.Listener)
	}
	srv.StartTLS()
	w.t.Cleanup(srv.Close)
	_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
	w.url = "https://localhost:" + port + "/arex"
}

func (c *ce) verify(w *world) func(tls.ConnectionState) error {
	env := credential.Env{Now: func() time.Time { return time.Now().Add(c.shift) }}
	return func(cs tls.ConnectionState) error {
		if len(cs.PeerCertificates) == 0 || c.cas == "" {
			return nil
		}
		trust, err := credential.LoadTrust(env, credential.Options{CertDir: c.cas, CAs: credential.GridCA})
		if err != nil {
			return err
		}
		return trust.VerifyChain(cs.PeerCertificates)
	}
}

// letIn answers those who show something.
func letIn(w http.ResponseWriter, r *http.Request) {
	if len(r.TLS.PeerCertificates) == 0 && r.Header.Get("Authorization") == "" {
		http.Error(w, "User can't be assigned configuration", http.StatusInternalServerError)
		return
	}
	fmt.Fprint(w, `{"job":[]}`)
}

func status(code int, text string) func(*ce) {
	return func(c *ce) {
		c.answer = func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			fmt.Fprint(w, text)
		}
	}
}

// alerting ends every connection but the first n with a TLS alert.
type alerting struct {
	net.Listener
	n    int
	code byte
}

func (l *alerting) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.n--; l.n >= 0 {
			return conn, nil
		}
		go func() {
			defer conn.Close()
			if _, err := conn.Read(make([]byte, 4096)); err == nil {
				_, _ = conn.Write([]byte{21, 3, 3, 0, 2, 2, l.code}) // RFC 8446 section 6: fatal
				_, _ = conn.Read(make([]byte, 1))
			}
		}()
	}
}

// listen accepts connections and hands them over.
func (w *world) listen(serve func(net.Conn)) (port string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				go func() { defer conn.Close(); serve(conn) }()
			}
		}
	}()
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port
}

// vomsServer is a TLS server, no more; vomses names it with the DN.
func (w *world) vomsServer(dn string) {
	cfg := &tls.Config{Certificates: []tls.Certificate{w.ca.Server(nil)}}
	port := w.listen(func(c net.Conn) { _ = tls.Server(c, cfg).Handshake() })
	w.vomses(port, dn)
}

func (w *world) vomses(port, dn string) {
	w.write("vomses", fmt.Sprintf("%q %q %q %q %q\n", vo, "localhost", port, dn, vo), 0o644)
}

func find(fs []credential.Finding, id string) *credential.Finding {
	for i := range fs {
		if fs[i].ID == id {
			return &fs[i]
		}
	}
	return nil
}

func ids(fs []credential.Finding) string {
	var all []string
	for _, f := range fs {
		all = append(all, f.ID)
	}
	return strings.Join(all, " ")
}
