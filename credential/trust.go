package credential

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Trust is the certificate authorities to believe: a directory in the grid's
// format (hashed names, signing policies, CRLs), the system's, or both.
type Trust struct {
	dir    string
	cas    map[string]*authority // by nameAndKey
	bad    []Finding             // files of the directory that could not be used
	grid   *x509.CertPool        // those of the directory
	system func() *x509.CertPool // reads the system's; nil: not trusted
	now    func() time.Time
	open   bool // an authority below one of these need not be among them
	kept   keptLists
}

// authority is a CA of the directory.
type authority struct {
	cert *x509.Certificate
	// bases are the paths of its files without ".0": signing policies and
	// CRLs go by them too. The name OpenSSL looks for is the first, then that
	// of old OpenSSL, then others.
	bases []string
}

// defaultCertDir is where IGTF distributions install CA certificates.
const defaultCertDir = "/etc/grid-security/certificates"

// CertDir is the directory of CA certificates that applies: the option,
// $X509_CERT_DIR, ~/.globus/certificates, /etc/grid-security/certificates.
func (e Env) CertDir(opts Options) string {
	if opts.CertDir != "" {
		return opts.CertDir
	}
	if dir := e.getenv("X509_CERT_DIR"); dir != "" {
		return dir
	}
	if dir := e.home(".globus", "certificates"); dir != "" && exists(dir) {
		return dir
	}
	return defaultCertDir
}

// LoadTrust reads the CA certificates. With AnyCA a missing directory is no
// error as long as the system has authorities, unless it was named.
func LoadTrust(env Env, opts Options) (*Trust, error) {
	t := &Trust{cas: map[string]*authority{}, grid: x509.NewCertPool(), now: env.now}
	if opts.CAs != GridCA {
		t.system = sync.OnceValue(systemPool)
	}
	if opts.CAs != SystemCA {
		t.dir = env.CertDir(opts)
		named := opts.CertDir != "" || env.getenv("X509_CERT_DIR") != "" || opts.CAs == GridCA
		if err := t.readDir(); err != nil && (named || !t.System()) {
			return nil, problem("trust.absent", t.dir, "cannot read the directory of CA certificates", "",
				"install the IGTF CA certificates, or set X509_CERT_DIR").because(err)
		}
	}
	return t, nil
}

// systemPool reads the system's authorities, some 140 files: only who needs
// them waits for that.
func systemPool() *x509.CertPool {
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil
	}
	return pool
}

// readDir reads all CA certificates (*.0 to *.9, *.pem) of the directory.
func (t *Trust) readDir() error {
	if err := exchangedByAll(t.dir); err != nil {
		return err
	}
	entries, err := os.ReadDir(t.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if namesCA(e.Name()) {
			t.readCA(filepath.Join(t.dir, e.Name()))
		}
	}
	return nil
}

// exchangedByAll tells of a directory that everybody can write to, or where another one can be put into its place by everybody:
// of what it lies in, by its name and by its real one, sticky directories are well. Whom it belongs to is the site's matter.
func exchangedByAll(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	for _, way := range []string{dir, real} {
		for at, below := way, ""; at != below; at, below = filepath.Dir(at), at {
			info, err := os.Stat(at)
			if err != nil {
				return err
			}
			if mode := info.Mode(); mode.Perm()&0o002 != 0 && (at == way || mode&fs.ModeSticky == 0) {
				return fmt.Errorf("everybody can write to %s (mode %04o)", at, mode.Perm())
			}
		}
	}
	return nil
}

func (t *Trust) readCA(path string) {
	data, err := readPublic("trust", "CA certificate", path)
	if info, no := os.Stat(path); err == nil && no == nil && info.Mode().Perm()&0o002 != 0 {
		err = fmt.Errorf("everybody can write to it (mode %04o)", info.Mode().Perm())
	}
	if err == nil {
		var certs []*x509.Certificate
		if certs, _, err = parsePEM(path, withoutKeys(data), nil); err == nil {
			t.addCAs(certs, strings.TrimSuffix(path, filepath.Ext(path)))
			return
		}
	}
	t.bad = append(t.bad, Finding{ID: "trust.malformed", Severity: Warning, Subject: path, What: "this CA certificate cannot be used",
		Why: err.Error(), Mend: "install it again, or remove the file"})
}

// withoutKeys cuts private keys out, so that a test CA's directory with its
// key beside the certificates is read all the same.
func withoutKeys(data []byte) []byte {
	if strings.Contains(string(data), "PRIVATE KEY-----") && !strings.Contains(string(data), "BEGIN CERTIFICATE") {
		return nil
	}
	return data
}

// addCAs takes the certificates of one file in.
func (t *Trust) addCAs(certs []*x509.Certificate, base string) {
	for _, c := range certs {
		ca := t.authority(c)
		if ca == nil {
			ca = &authority{cert: c}
			t.cas[nameAndKey(c)] = ca
			t.grid.AddCert(c)
		}
		if !slices.Contains(ca.bases, base) {
			ca.bases = append(ca.bases, base)
			slices.SortStableFunc(ca.bases, ca.preference)
		}
	}
}

// preference orders the names of an authority's files.
func (a *authority) preference(x, y string) int {
	class := func(base string) int {
		switch filepath.Base(base) {
		case NameHash(a.cert.RawSubject):
			return 0
		case oldNameHash(a.cert.RawSubject):
			return 1
		}
		return 2
	}
	return cmp.Or(cmp.Compare(class(x), class(y)), strings.Compare(x, y))
}

// Dir is the directory of CA certificates; "" when only the system's are used.
func (t *Trust) Dir() string { return t.dir }

// Size is the number of CA certificates of the directory.
func (t *Trust) Size() int { return len(t.cas) }

// Roots returns all trusted roots; the caller does not change it.
func (t *Trust) Roots() *x509.CertPool {
	if !t.System() {
		return t.grid
	}
	all := t.system().Clone()
	for _, ca := range t.cas {
		all.AddCert(ca.cert)
	}
	return all
}

// GridConfig is ClientConfig with the directory's authorities alone. With it a
// server of the grid is verified without the system's having been read; what
// it does not know (x509.UnknownAuthorityError) ClientConfig may.
func (t *Trust) GridConfig(cert *X509, serverName string) *tls.Config {
	return t.config(cert, serverName, t.grid)
}

// ClientConfig is the TLS configuration to talk to serverName: TLS 1.2 or
// newer, the chain and the host name verified, signing policies and CRLs of
// the directory respected, cert (may be nil) presented with its whole chain.
//
// P-521 is among the curves because ARC CEs accept no other. Go (since 1.24)
// ignores the order of CurvePreferences, so the round trip that ARC costs by
// asking for another key share cannot be saved this way.
func (t *Trust) ClientConfig(cert *X509, serverName string) *tls.Config {
	return t.config(cert, serverName, t.Roots())
}

func (t *Trust) config(cert *X509, serverName string, roots *x509.CertPool) *tls.Config {
	c := &tls.Config{
		MinVersion:       tls.VersionTLS12,
		ServerName:       serverName,
		RootCAs:          roots,
		Time:             t.now,
		CurvePreferences: []tls.CurveID{tls.CurveP521, tls.X25519MLKEM768, tls.X25519, tls.CurveP256, tls.CurveP384},
		VerifyConnection: func(cs tls.ConnectionState) error { return t.checkChains(cs.VerifiedChains) },
	}
	if cert != nil {
		own := cert.Certificate()
		// Always present it: Go's own choice looks at the names of the CAs
		// the server lists, and servers do not list users as issuers.
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &own, nil }
	}
	return c
}

// checkChains asks that one of the chains respects policies and CRLs.
func (t *Trust) checkChains(chains [][]*x509.Certificate) error {
	var first error
	for _, chain := range chains {
		err := checkChain(t, chain)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// System reports whether the system's authorities are trusted too, and there
// are any.
func (t *Trust) System() bool { return t.system != nil && t.system() != nil }

// HTTPClient is a client for servers that nothing but cert (may be nil) is shown
// to. It gives up after timeout, and follows no redirect away from https.
func (t *Trust) HTTPClient(cert *X509, timeout time.Duration) *http.Client {
	return (&Dialer{Trust: t, Cert: cert}).HTTPClient(timeout)
}

// HTTPClient is a client that connects as d does. It gives up after timeout,
// and follows no redirect away from https, nor any where credentials are shown.
func (d *Dialer) HTTPClient(timeout time.Duration) *http.Client {
	return &http.Client{
		Timeout: timeout,
		Transport: ThroughProxy(lateTransport(sync.OnceValue(func() *Transport {
			return Wary(&http.Transport{DialTLSContext: d.DialTLS, Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: handshakeTime,
				TLSClientConfig: d.Trust.ClientConfig(d.Cert, "")})
		}))),
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if req.URL.Scheme != "https" || len(via) > 5 || d.Cert != nil || d.Guarded {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
}

// lateTransport is made at the first request: many clients never make one.
type lateTransport func() *Transport

func (t lateTransport) RoundTrip(r *http.Request) (*http.Response, error) { return t().RoundTrip(r) }

// CloseIdleConnections is for http.Client's method of this name.
func (t lateTransport) CloseIdleConnections() { t().CloseIdleConnections() }
