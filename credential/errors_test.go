package credential

import (
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// certDir lays a directory of authorities as distributions do, with a policy
// for /DC=org/* and a CRL that revokes serials.
func certDir(t testing.TB, ca *testCA, next time.Time, revoked ...*big.Int) string {
	t.Helper()
	dir := t.TempDir()
	base := filepath.Join(dir, NameHash(ca.cert.RawSubject))
	write(t, base+".0", pemChain([]*x509.Certificate{ca.cert}), 0o644)
	policy := fmt.Sprintf("access_id_CA X509 '%s'\npos_rights globus CA:sign\ncond_subjects globus '\"/DC=org/*\"'\n", subjectDN(ca.cert))
	write(t, base+".signing_policy", []byte(policy), 0o644)
	list := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: testNow.AddDate(0, -2, 0), NextUpdate: next}
	for _, s := range revoked {
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: s, RevocationTime: testNow.AddDate(0, 0, -3)})
	}
	der, err := x509.CreateRevocationList(rand.Reader, list, ca.cert, ca.key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, base+".r0", der, 0o644)
	return dir
}

func write(t testing.TB, path string, data []byte, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, data, mode); err != nil {
		t.Fatal(err)
	}
}

func trustIn(t testing.TB, dir string, now time.Time) *Trust {
	t.Helper()
	trust, err := LoadTrust(Env{Now: func() time.Time { return now }}, Options{CertDir: dir, CAs: GridCA})
	if err != nil {
		t.Fatal(err)
	}
	return trust
}

func id(err error) string {
	if f, ok := errors.AsType[*Finding](err); ok {
		return f.ID
	}
	return fmt.Sprint(err)
}

func proxyOf(t testing.TB, x *X509, o ProxyOptions) *X509 {
	t.Helper()
	o.Now, o.Key = testNow, "ecdsa"
	p, err := x.NewProxy(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Each way in which a chain is wrong has its own finding.
func TestVerifyChain(t *testing.T) {
	ca, next := newCA(t, "CA"), testNow.AddDate(0, 1, 0)
	alice := ca.user(t, "Alice", nil)
	dir := certDir(t, ca, next)
	full := proxyOf(t, alice, ProxyOptions{})
	lim := proxyOf(t, alice, ProxyOptions{Limited: true})
	zero := 0
	dead := proxyOf(t, alice, ProxyOptions{PathLen: &zero})
	raw := func(x *X509, o issueOptions) []*x509.Certificate { // signs what mayIssue would refuse
		k := newKey(t)
		info, _ := infoExtension(o.limited, o.pathLen)
		name, _ := appendCN(x.chain[0].RawSubject, "7")
		c := sign(t, &x509.Certificate{SerialNumber: big.NewInt(7), RawSubject: name, NotBefore: testNow.Add(-time.Hour), NotAfter: testNow.Add(time.Hour),
			KeyUsage: x509.KeyUsageDigitalSignature, ExtraExtensions: append([]pkix.Extension{info}, o.extra...)}, x.chain[0], k.Public(), x.key)
		return append([]*x509.Certificate{c}, x.chain...)
	}
	stranger := newCA(t, "Stranger").user(t, "Alice", nil)
	for _, tt := range []struct {
		name, want string
		chain      []*x509.Certificate
		dir        string
		now        time.Time
	}{
		{"user", "<nil>", alice.chain, dir, testNow},
		{"proxy", "<nil>", full.chain, dir, testNow},
		{"proxy of proxy", "<nil>", proxyOf(t, full, ProxyOptions{}).chain, dir, testNow},
		{"limited", "<nil>", proxyOf(t, lim, ProxyOptions{}).chain, dir, testNow},
		{"expired proxy", "x509.proxy", full.chain, dir, testNow.Add(13 * time.Hour)},
		{"proxy of the future", "x509.proxy", full.chain, dir, testNow.Add(-time.Hour)},
		{"expired user", "x509.expired", alice.chain, certDir(t, ca, testNow.AddDate(3, 0, 0)), testNow.AddDate(2, 0, 0)},
		{"wrong CA", "trust.unknown-ca", stranger.chain, dir, testNow},
		{"wrong issuer key", "x509.proxy", append(full.chain[:1:1], stranger.chain...), certDir(t, ca, next), testNow},
		{"revoked", "x509.revoked", full.chain, certDir(t, ca, next, alice.chain[0].SerialNumber), testNow},
		{"stale CRL", "trust.crl-expired", full.chain, certDir(t, ca, testNow.Add(-time.Hour)), testNow},
		{"policy", "trust.policy", ca.user(t, "x", func(c *x509.Certificate) { c.Subject = pkix.Name{CommonName: "Elsewhere"} }).chain, dir, testNow},
		{"full below limited", "x509.proxy", raw(lim, issueOptions{pathLen: -1}), dir, testNow},
		{"path length", "x509.path-length", raw(dead, issueOptions{pathLen: -1}), dir, testNow},
		{"proxies only", "x509.incomplete", full.chain[:1], dir, testNow},
	} {
		t.Run(tt.name, func(t *testing.T) {
			trust := trustIn(t, tt.dir, tt.now)
			if tt.name == "wrong issuer key" {
				trust.grid.AddCert(tt.chain[1]) // even where the other user is trusted
			}
			if got := id(trust.VerifyChain(tt.chain)); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

// TestLongChains: a chain is no longer than a file may have one: each request of who shows it has all of it verified.
func TestLongChains(t *testing.T) {
	ca := newCA(t, "CA")
	alice := ca.user(t, "Alice", nil)
	trust := trustIn(t, certDir(t, ca, testNow.AddDate(0, 1, 0)), testNow)
	deep := alice
	for len(deep.chain) < maxCerts {
		deep = proxyOf(t, deep, ProxyOptions{})
	}
	if _, err := trust.Peer(deep.chain); err != nil {
		t.Errorf("%d certificates: %v", len(deep.chain), err)
	}
	deep = proxyOf(t, deep, ProxyOptions{})
	wide := alice.chain[:1:1]
	for range maxCerts { // each may be the one that signed Alice's
		wide = append(wide, newCA(t, "CA").cert)
	}
	for _, chain := range [][]*x509.Certificate{deep.chain, wide} {
		if _, err := trust.Peer(chain); err == nil || !strings.Contains(err.Error(), "no more than 32 are looked at") {
			t.Errorf("%d certificates: %v", len(chain), err)
		}
	}
}

func TestMayIssue(t *testing.T) {
	alice := newCA(t, "CA").user(t, "Alice", nil)
	zero := 0
	dead := proxyOf(t, alice, ProxyOptions{PathLen: &zero})
	if _, err := dead.NewProxy(ProxyOptions{Now: testNow}); id(err) != "x509.path-length" {
		t.Errorf("below path length 0: %v", err)
	}
	if _, err := alice.NewProxy(ProxyOptions{Now: testNow.AddDate(5, 0, 0)}); id(err) != "x509.expired" {
		t.Errorf("of an expired certificate: %v", err)
	}
	isCA := func(c *x509.Certificate) { c.IsCA = true }
	if _, err := newCA(t, "CA").user(t, "Sub", isCA).NewProxy(ProxyOptions{Now: testNow}); id(err) != "x509.is-ca" {
		t.Errorf("of a CA: %v", err)
	}
	only := func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageKeyEncipherment }
	if _, err := newCA(t, "CA").user(t, "Alice", only).NewProxy(ProxyOptions{Now: testNow}); id(err) != "x509.key-usage" {
		t.Errorf("of a certificate that may not sign: %v", err)
	}
	if err := alice.Save(filepath.Join(t.TempDir(), "no", "such", "dir")); id(err) != "x509.unwritable" {
		t.Errorf("saved into a directory that is not there: %v", err)
	}
	if f := Suspect(alice, nil, "https://ce", "", testNow); f == nil || f.ID != "voms.none" {
		t.Errorf("suspect of a certificate without attributes: %v", f)
	}
	if p := proxyOf(t, proxyOf(t, alice, ProxyOptions{Limited: true}), ProxyOptions{}); !isLimited(p.chain[0]) {
		t.Error("a full proxy was made of a limited one")
	}
}

// What is wrong with files, each with its own finding.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	alice := newCA(t, "CA").user(t, "Alice", nil)
	other := newCA(t, "CA").user(t, "Bob", nil)
	good, err := proxyOf(t, alice, ProxyOptions{}).pem()
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := (&X509{chain: alice.chain, key: other.key}).pem()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		want string
		data []byte
		mode os.FileMode
	}{
		{"<nil>", good, 0o600},
		{"<nil>", good, 0o400},
		{"x509.permissions", good, 0o640},
		{"x509.permissions", good, 0o602},
		{"x509.key-mismatch", foreign, 0o600},
		{"x509.key-missing", pemChain(alice.chain), 0o600},
		{"x509.malformed", []byte("hello"), 0o600},
		{"x509.malformed", make([]byte, maxFile+1), 0o600},
		{"x509.malformed", []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), 0o600},
	} {
		path := filepath.Join(dir, "proxy")
		os.Remove(path)
		write(t, path, tt.data, tt.mode)
		if err := os.Chmod(path, tt.mode); err != nil {
			t.Fatal(err)
		}
		_, err := FindX509(Env{UID: os.Getuid()}, Options{Proxy: path})
		if id(err) != tt.want {
			t.Errorf("%s with mode %o, want %s", id(err), tt.mode, tt.want)
		}
		if tt.want == "x509.permissions" && !strings.Contains(err.Error(), "chmod 600 "+path) {
			t.Errorf("no command in %q", err)
		}
	}
}

// The order of the bearer token discovery, with its rules for empty and bad places.
func TestTokenDiscovery(t *testing.T) {
	run, dir := t.TempDir(), t.TempDir()
	file := filepath.Join(dir, "token")
	write(t, file, []byte("from-file\n"), 0o600)
	blank := filepath.Join(dir, "blank")
	write(t, blank, []byte(" \n\t"), 0o600)
	env := map[string]string{"XDG_RUNTIME_DIR": run}
	e := Env{UID: os.Getuid(), Getenv: func(k string) string { return env[k] }}
	write(t, e.tokenPaths()[0], []byte("\v from-run \f\n"), 0o600)
	check := func(want string) {
		t.Helper()
		tok, err := FindToken(e, Options{})
		got := id(err)
		if err == nil {
			got = tok.Raw()
		}
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	check("from-run")
	env["BEARER_TOKEN_FILE"] = file
	check("from-file")
	env["BEARER_TOKEN_FILE"] = blank
	check("from-run")
	env["BEARER_TOKEN"] = " from-env "
	check("from-env")
	env["BEARER_TOKEN"] = "Bearer x" // bad: no other place is looked at
	check("token.malformed")
	env["BEARER_TOKEN"] = ""
	env["BEARER_TOKEN_FILE"] = filepath.Join(dir, "no")
	check("token.absent")
}

func jwt(claims string) string {
	return "eyJhbGciOiJub25lIn0." + strings.TrimRight(pemless([]byte(claims)), "=") + ".sig"
}

func TestTokenFits(t *testing.T) {
	const ce = "https://ce.example.org:443/arex"
	for _, tt := range []struct{ claims, want string }{
		{`{"aud":"https://ce.example.org","scope":"compute.create compute.read"}`, "<nil>"},
		{`{"aud":["https://x","https://ce.example.org"],"scope":["compute.create"]}`, "<nil>"},
		{`{"aud":"https://wlcg.cern.ch/jwt/v1/any"}`, "<nil>"},
		{`{"sub":"me"}`, "<nil>"},
		{`{"aud":"https://other.example.org"}`, "token.audience"},
		{`{"scope":"compute.read"}`, "token.scope"},
		{`{"exp":1000}`, "token.expired"},
		{`{"nbf":9999999999}`, "token.not-yet-valid"},
	} {
		tok, err := ParseToken("test", jwt(tt.claims))
		if err != nil {
			t.Fatal(err)
		}
		set := &Set{Token: tok, now: func() time.Time { return testNow }}
		if _, err := set.TokenFor(t.Context(), ce, "compute.create"); id(err) != tt.want {
			t.Errorf("%s: %s, want %s", tt.claims, id(err), tt.want)
		}
	}
}

func TestTokenNeverShown(t *testing.T) {
	tok, err := ParseToken("test", jwt(`{"sub":"me"}`))
	if err != nil {
		t.Fatal(err)
	}
	set := &Set{Token: tok}
	for _, text := range []string{fmt.Sprint(tok), fmt.Sprintf("%s %q %x %+v %#v", tok, tok, tok, tok, tok), fmt.Sprintf("%+v", set.Token)} {
		if strings.Contains(text, "eyJ") || strings.Contains(text, "65794a") {
			t.Errorf("shown: %s", text)
		}
	}
}

func TestOutlives(t *testing.T) {
	alice := newCA(t, "CA").user(t, "Alice", nil)
	set := &Set{X509: proxyOf(t, alice, ProxyOptions{})} // 12 h
	if f := set.Outlives(testNow, 0, 11*time.Hour); f != nil {
		t.Error(f)
	}
	if f := set.Outlives(testNow, 2*time.Hour, 11*time.Hour); f == nil || f.ID != "life.too-short" || !strings.Contains(f.Mend, "15h") {
		t.Error(f)
	}
}

func pemless(b []byte) string {
	return strings.NewReplacer("+", "-", "/", "_").Replace(strings.Join(strings.Fields(strings.TrimSuffix(strings.TrimPrefix(
		string(pem.EncodeToMemory(&pem.Block{Type: "X", Bytes: b})), "-----BEGIN X-----"), "-----END X-----\n")), ""))
}
