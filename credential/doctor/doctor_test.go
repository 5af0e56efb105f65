package doctor_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/credential/voms"
	"gridbroker/testdata/testbed"
)

func jwt(claims string) string {
	return "eyJhbGciOiJub25lIn0." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
}

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// fault is one thing wrong, and the finding that must say so.
type fault struct {
	id    string
	sev   credential.Severity
	says  string // part of the finding
	spoil func(*world)
}

const (
	ok      = credential.OK
	note    = credential.Note
	warning = credential.Warning
	problem = credential.Problem
)

var localFaults = []fault{
	{"x509.ok", ok, "/DC=org/CN=Alice", func(*world) {}},
	{"x509.absent", problem, "grid auth proxy", func(w *world) { w.remove("proxy") }},
	{"x509.permissions", problem, "chmod 600", func(w *world) { w.chmod("proxy", 0o640) }},
	{"x509.owner", problem, "another user", func(w *world) { w.uid = 4711 }},
	{"x509.unreadable", problem, "regular file", func(w *world) { w.remove("proxy"); w.mkdir("proxy") }},
	{"x509.malformed", problem, "not a PEM file", func(w *world) { w.write("proxy", "hello", 0o600) }},
	{"x509.key-missing", problem, "no private key", func(w *world) { w.write("proxy", string(testbed.PEM(w.alice.Cert)), 0o600) }},
	{"x509.key-mismatch", problem, "does not belong", func(w *world) { w.pem(testbed.Identity{Cert: w.alice.Cert, Key: w.voms.Key}) }},
	{"x509.incomplete", problem, "proxies only", func(w *world) { w.pem(w.bareProxy(nil)) }},
	{"x509.expired", problem, "expired 1 h", func(w *world) { w.proxy(credential.ProxyOptions{Now: w.now.Add(-13*time.Hour - time.Minute)}) }},
	{"x509.not-yet-valid", problem, "clock", func(w *world) { w.proxy(credential.ProxyOptions{Now: w.now.Add(time.Hour)}) }},
	{"x509.expires-soon", warning, "expires in 2", func(w *world) { w.proxy(credential.ProxyOptions{Lifetime: 30 * time.Minute}) }},
	{"x509.legacy-proxy", problem, "Globus 2", func(w *world) { w.pem(w.legacyProxy(), w.alice.Cert) }},
	{"x509.limited", warning, "limited", func(w *world) { w.proxy(credential.ProxyOptions{Limited: true}) }},
	{"x509.weak", warning, "1024 bits", func(w *world) { w.pem(w.weak()) }},
	{"x509.proxy", problem, "alternative names", func(w *world) {
		w.pem(w.bareProxy(func(c *x509.Certificate) { c.DNSNames = []string{"x"} }), w.alice.Cert)
	}},
	{"x509.path-length", problem, "too often", func(w *world) { w.secondBelowZero() }},
	{"x509.revoked", problem, "ask the certificate authority", func(w *world) { w.crl(-time.Hour, time.Hour, w.alice.Cert.SerialNumber) }},
	{"x509.invalid", problem, "not valid", func(w *world) { w.unknownExtension() }},
	{"x509.key-encrypted", problem, "passphrase", func(w *world) { w.encrypted("proxy") }},
	{"user.ok", ok, "grid auth proxy", func(w *world) { w.userCert(); w.expireProxy() }},
	{"user.expires-soon", warning, "certificate authority", func(w *world) { w.shortLived() }},
	{"token.ok", ok, "alice", func(w *world) { w.token(`{"sub":"alice","iss":"https://iam"}`) }},
	{"token.absent", problem, "grid auth login", func(w *world) { w.opts.TokenFile = w.path("none") }},
	{"token.permissions", problem, "chmod 600", func(w *world) { w.token(`{}`); w.chmod("token", 0o604) }},
	{"token.owner", problem, "another user", func(w *world) { w.token(`{}`); w.uid = 4711 }},
	{"token.unreadable", problem, "regular file", func(w *world) { w.env["BEARER_TOKEN_FILE"] = w.mkdir("dir") }},
	{"token.malformed", problem, "header name or quotes", func(w *world) { w.env["BEARER_TOKEN"] = "Bearer abc" }},
	{"token.expired", problem, "grid auth login", func(w *world) { w.token(`{"exp":1000}`) }},
	{"token.not-yet-valid", problem, "clock", func(w *world) { w.token(`{"nbf":9999999999}`) }},
	{"token.expires-soon", warning, "grid auth login", func(w *world) { w.token(fmt.Sprintf(`{"exp":%d}`, w.now.Add(time.Minute).Unix())) }},
	{"credential.absent", problem, "grid auth proxy", func(w *world) { w.expireProxy() }},
	{"clock.behind", problem, "NTP", func(w *world) { w.crl(time.Hour, 2*time.Hour) }},
	{"login.ok", ok, "https://iam", func(w *world) { w.write("logins/a.json", `{"issuer":"https://iam"}`, 0o600) }},
	{"login.malformed", problem, "log in again", func(w *world) { w.write("logins/a.json", `{"iss`, 0o600) }},
	{"file.permissions", problem, "chmod 600", func(w *world) { w.write("logins/a.json", `{}`, 0o644) }},
	{"file.owner", problem, "belongs to", func(w *world) { w.write("logins/a.json", `{}`, 0o600); w.uid = 4711 }},
	{"file.unreadable", problem, "regular file", func(w *world) { w.mkdir("logins/a.json") }},
	{"file.malformed", problem, "1 MiB", func(w *world) { w.write("logins/a.json", strings.Repeat(" ", 1<<20+1), 0o600) }},
}

var trustFaults = []fault{
	{"trust.ok", ok, "1 authorities", func(*world) {}},
	{"trust.absent", problem, "X509_CERT_DIR", func(w *world) { w.env["X509_CERT_DIR"] = w.path("none") }},
	{"trust.malformed", warning, "cannot be used", func(w *world) {
		w.write("certificates/00000000.0", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", 0o644)
	}},
	{"trust.unreadable", problem, "signing policy", func(w *world) { w.remove(w.rel(".signing_policy")); w.mkdir(w.rel(".signing_policy")) }},
	{"trust.unknown-ca", problem, "not in", func(w *world) { w.otherCA() }},
	{"trust.ca-expired", warning, "update", func(w *world) { w.oldCA() }},
	{"trust.crl-expired", warning, "fetch-crl", func(w *world) { w.crl(-2*time.Hour, -time.Hour) }},
	{"trust.crl-absent", note, "unnoticed", func(w *world) { w.remove(w.rel(".r0")) }},
	{"trust.crl-malformed", problem, "fetch-crl", func(w *world) { w.write(w.rel(".r0"), "hello", 0o644) }},
	{"trust.hash", warning, "c_rehash", func(w *world) { w.rename("deadbeef") }},
	{"trust.policy", problem, "may not sign", func(w *world) { w.policy("/DC=net/*") }},
	{"trust.policy-absent", note, "Globus", func(w *world) { w.remove(w.rel(".signing_policy")) }},
	{"trust.policy-malformed", problem, ":1:", func(w *world) { w.write(w.rel(".signing_policy"), "hello\n", 0o644) }},
	{"trust.namespaces-malformed", problem, ":2:", func(w *world) { w.write(w.rel(".namespaces"), "# c\nTO Issuer me\n", 0o644) }},
}

var vomsFaults = []fault{
	{"voms.malformed", problem, "cannot be read", func(w *world) { w.rawAC([]byte{0x30, 0x00, 0x05}) }},
	{"voms.expired", problem, "grid auth proxy --voms", func(w *world) { w.acWith(func(a *testbed.AC) { a.To = w.now.Add(-time.Minute) }) }},
	{"voms.expires-soon", warning, "grid auth proxy --voms", func(w *world) { w.acWith(func(a *testbed.AC) { a.To = w.now.Add(time.Minute) }) }},
	{"voms.not-yet-valid", problem, "not valid before", func(w *world) { w.acWith(func(a *testbed.AC) { a.From = w.now.Add(time.Hour) }) }},
	{"voms.holder", problem, "not to /DC=org/CN=Alice", func(w *world) { w.acWith(func(a *testbed.AC) { a.Holder = w.voms.Cert }) }},
	{"voms.critical", problem, "1.2.3", func(w *world) { w.acWith(func(a *testbed.AC) { a.Critical = asn1.ObjectIdentifier{1, 2, 3} }) }},
	{"voms.no-certificate", problem, "old format", func(w *world) { w.acWith(func(a *testbed.AC) { a.Chain = nil }) }},
	{"voms.issuer", problem, "but carry", func(w *world) { w.acWith(func(a *testbed.AC) { a.Issuer = w.alice.Cert }) }},
	{"voms.signature", problem, "altered", func(w *world) { w.acWith(func(a *testbed.AC) { a.Key = w.alice.Key }) }},
	{"voms.algorithm", problem, "not accepted", func(w *world) { w.acWith(func(a *testbed.AC) { a.SHA1 = true }) }},
	{"voms.no-lsc", note, "there is no", func(w *world) { w.remove("vomsdir") }},
	{"voms.lsc", problem, "2:", func(w *world) { w.lsc("/CN=a\nhello\n") }},
	{"vomsdir.malformed", warning, "first line", func(w *world) { w.lsc("/CN=only one\n") }},
	{"voms.lsc-mismatch", problem, "does not list", func(w *world) { w.lsc("/CN=a\n/CN=b\n") }},
	{"voms.server-chain", problem, "not trusted", func(w *world) { w.foreignVOMS() }},
	{"vomses.malformed", problem, "1:", func(w *world) { w.write("vomses", `"vo" "host"`, 0o644) }},
	{"vomses.absent", note, "~/.voms/vomses", func(*world) {}},
	{"voms.reachable", ok, "answers", func(w *world) { w.vomsServer("/DC=org/CN=localhost") }},
	{"voms.unreachable", warning, "correct", func(w *world) { w.vomses("1", "") }},
	{"voms.server-dn", problem, "expects /CN=else", func(w *world) { w.vomsServer("/CN=else") }},
}

var endpointFaults = []fault{
	{"server.ok", ok, "TLS 1.3", func(w *world) { w.serve(nil) }},
	{"endpoint.x509-accepted", ok, "X.509", func(w *world) { w.serve(nil) }},
	{"endpoint.token-accepted", ok, "token", func(w *world) { w.token(`{}`); w.serve(nil) }},
	{"endpoint.x509-refused", problem, "VO " + vo, func(w *world) { w.serve(status(500, "User can't be assigned configuration")) }},
	{"endpoint.token-refused", problem, "single scope", func(w *world) {
		w.token(`{"scope":"compute.read compute.create"}`)
		w.serve(status(403, "Token scopes do not match requires scopes"))
	}},
	{"token.audience", problem, "grid auth login --audience https://localhost", func(w *world) { w.token(`{"aud":"https://x"}`); w.serve(nil) }},
	{"token.scope", warning, "compute.create", func(w *world) { w.token(`{"scope":"compute.read"}`); w.serve(nil) }},
	{"endpoint.url", problem, "https", func(w *world) { w.url = "ldap://x" }},
	{"endpoint.name", problem, "spelling", func(w *world) { w.url = "https://nowhere.invalid/arex" }},
	{"endpoint.unreachable", problem, "firewall", func(w *world) { w.url = "https://localhost:1/arex" }},
	{"endpoint.no-tls", problem, "TLS", func(w *world) {
		w.url = "https://localhost:" + w.listen(func(c net.Conn) { fmt.Fprint(c, "220 hello\r\n") })
	}},
	{"endpoint.broken", problem, "try again", func(w *world) {
		w.serve(func(c *ce) { c.answer = func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) } })
	}},
	{"endpoint.open", note, "everybody", func(w *world) { w.serve(status(200, "")) }},
	{"endpoint.not-arc", note, "/arex", func(w *world) { w.serve(status(404, "")) }},
	{"endpoint.no-certificate-wanted", note, "no use", func(w *world) { w.serve(func(c *ce) { c.noAsk = true }) }},
	{"endpoint.ca-not-listed", warning, "install", func(w *world) {
		w.serve(func(c *ce) { c.names = []*x509.Certificate{testbed.NewCA(w.t, "Other", w.now, nil).Cert} })
	}},
	{"server.name", problem, "it names ce.example.org", func(w *world) {
		w.serveAs(func(c *x509.Certificate) { c.DNSNames, c.IPAddresses = []string{"ce.example.org"}, nil })
	}},
	{"server.expired", problem, "valid from", func(w *world) { w.serveAs(func(c *x509.Certificate) { c.NotAfter = w.now.Add(-time.Hour) }) }},
	{"server.expires-soon", warning, "tell the site", func(w *world) { w.serveAs(func(c *x509.Certificate) { c.NotAfter = w.now.Add(time.Hour) }) }},
	{"server.invalid", problem, "tell the site", func(w *world) {
		w.serveAs(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} })
	}},
	{"server.unknown-ca", problem, "issued by", func(w *world) {
		w.serve(func(c *ce) { c.cert = testbed.NewCA(w.t, "Other", w.now, nil).Server(nil) })
	}},
	{"clock.ok", ok, "within 30 s", func(w *world) { w.serve(nil) }},
	{"clock.ok", ok, "within 1 s", func(w *world) { w.serve(func(c *ce) { c.date = true }) }},
	{"clock.skew", problem, "ahead", func(w *world) { w.shift = 10 * time.Minute; w.serve(func(c *ce) { c.date = true }) }},
	{"clock.skew", problem, "8 min to 16 min ahead", func(w *world) { w.shift = 10 * time.Minute; w.serve(nil) }},
	{"clock.skew", warning, "1 min to 2 min behind", func(w *world) { w.serve(func(c *ce) { c.shift = 90 * time.Second }) }},
	{"clock.skew", problem, "8 min to 16 min behind", func(w *world) { w.serve(func(c *ce) { c.shift, c.version = 10*time.Minute, tls.VersionTLS12 }) }},
	{"clock.skew", problem, "going by the date of its information", func(w *world) { w.remove("proxy"); w.token(`{}`); w.serve(w.oldInfo(time.Hour)) }},
	{"clock.unknown", note, "date -u", func(w *world) { w.serve(func(c *ce) { c.cas = "" }) }},
}

func TestLocal(t *testing.T)    { run(t, localFaults) }
func TestTrust(t *testing.T)    { run(t, trustFaults) }
func TestVOMS(t *testing.T)     { run(t, vomsFaults) }
func TestEndpoint(t *testing.T) { run(t, endpointFaults) }

// Each alert with which a server refuses a certificate.
func TestAlerts(t *testing.T) {
	var fs []fault
	for code, id := range map[byte]string{42: "refused.bad-certificate", 43: "refused.unsupported", 44: "refused.revoked", 45: "refused.expired", 46: "refused.certificate-unknown",
		48: "refused.unknown-ca", 49: "refused.access-denied", 116: "refused.certificate-required"} {
		fs = append(fs, fault{id, problem, "", func(w *world) {
			w.serve(func(c *ce) { c.wrap = func(l net.Listener) net.Listener { return &alerting{l, 2, code} } })
		}})
	}
	run(t, fs)
}

// A healthy machine has nothing to mend.
func TestHealthy(t *testing.T) {
	w := newWorld(t)
	w.vomsServer("")
	w.serve(nil)
	for _, f := range w.examine() {
		if f.Severity != ok && f.ID != "token.absent" {
			t.Error(f.Error())
		}
	}
}

func run(t *testing.T, faults []fault) {
	for _, tt := range faults {
		t.Run(tt.id, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			tt.spoil(w)
			fs := w.examine()
			f := find(fs, tt.id)
			switch {
			case f == nil:
				t.Errorf("got %s, want %s", ids(fs), tt.id)
			case f.Severity != tt.sev:
				t.Errorf("severity %s, want %s", f.Severity, tt.sev)
			case !strings.Contains(f.Error(), tt.says):
				t.Errorf("%q does not say %q", f.Error(), tt.says)
			case (f.Severity == problem || f.Severity == warning) && f.Mend == "":
				t.Errorf("%q does not say how to mend it", f.Error())
			}
			if testing.Verbose() && f != nil {
				t.Log(f.Error())
			}
		})
	}
}

func (w *world) rel(ext string) string { return strings.TrimPrefix(w.base, w.dir+"/") + ext }

func (w *world) chmod(name string, mode os.FileMode) {
	if err := os.Chmod(w.path(name), mode); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) crl(this, next time.Duration, revoked ...*big.Int) {
	w.write(w.rel(".r0"), string(w.ca.CRL(w.now.Add(this), w.now.Add(next), revoked...)), 0o644)
}

func (w *world) expireProxy() {
	w.proxy(credential.ProxyOptions{Now: w.now.Add(-13 * time.Hour)})
}

func (w *world) policy(pattern string) {
	w.write(w.rel(".signing_policy"), fmt.Sprintf("access_id_CA X509 '/DC=org/CN=Test CA'\npos_rights globus CA:sign\ncond_subjects globus '\"%s\"'\n", pattern), 0o644)
}

// rename gives the authority's files another hash.
func (w *world) rename(hash string) {
	for _, ext := range []string{".0", ".signing_policy", ".r0"} {
		if err := os.Rename(w.base+ext, w.path("certificates/"+hash+ext)); err != nil {
			w.t.Fatal(err)
		}
	}
}

// otherCA replaces the directory's authority by one of another name.
func (w *world) otherCA() {
	w.remove("certificates")
	ca := testbed.NewCA(w.t, "Other CA", w.now, nil)
	ca.Install(w.mkdir("certificates"), credential.NameHash(ca.Cert.RawSubject), "/DC=org/CN=Other CA")
}

func (w *world) oldCA() {
	ca := testbed.NewCA(w.t, "Old CA", w.now, func(c *x509.Certificate) { c.NotAfter = w.now.Add(-time.Hour) })
	ca.Install(w.path("certificates"), credential.NameHash(ca.Cert.RawSubject), "/DC=org/CN=Old CA")
}

// unknownExtension gives Alice a certificate that nobody may accept.
func (w *world) unknownExtension() {
	w.alice = w.ca.Issue("Alice", func(c *x509.Certificate) {
		c.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 2, 3, 4}, Critical: true, Value: []byte{5, 0}}}
	})
	w.pem(w.alice)
}

func (w *world) encrypted(name string) {
	block := &pem.Block{Type: "EC PRIVATE KEY", Bytes: []byte("0123456789abcdef"), Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-128-CBC,00112233445566778899AABBCCDDEEFF"}}
	w.write(name, string(testbed.PEM(w.alice.Cert))+string(pem.EncodeToMemory(block)), 0o600)
}

func (w *world) userCert() {
	w.write("home/.globus/usercert.pem", string(testbed.PEM(w.alice.Cert)), 0o644)
	w.write("home/.globus/userkey.pem", string(testbed.KeyPEM(w.t, w.alice.Key)), 0o400)
}

func (w *world) shortLived() {
	w.alice = w.ca.Issue("Alice", func(c *x509.Certificate) { c.NotAfter = w.now.AddDate(0, 0, 10) })
	w.proxy(credential.ProxyOptions{})
}

func (w *world) weak() testbed.Identity {
	key, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		w.t.Fatal(err)
	}
	template := w.ca.Template("Alice")
	return testbed.Identity{Cert: w.ca.Sign(template, w.ca.Cert, key.Public(), w.ca.Key), Key: key}
}

// proxyInfo is the extension of RFC 3820 for full proxies; pathLen -1: none.
func (w *world) proxyInfo(pathLen int) pkix.Extension {
	type policy struct{ Language asn1.ObjectIdentifier }
	value, err := asn1.Marshal(struct {
		PathLen int `asn1:"optional,default:-1"`
		Policy  policy
	}{pathLen, policy{asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 21, 1}}})
	if err != nil {
		w.t.Fatal(err)
	}
	return pkix.Extension{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 14}, Critical: true, Value: value}
}

// bareProxy is a proxy made by hand.
func (w *world) bareProxy(change func(*x509.Certificate)) testbed.Identity {
	return w.below(w.alice, "7", func(c *x509.Certificate) {
		c.ExtraExtensions = []pkix.Extension{w.proxyInfo(-1)}
		if change != nil {
			change(c)
		}
	})
}

func (w *world) legacyProxy() testbed.Identity { return w.below(w.alice, "proxy", nil) }

// below signs a certificate with one CN more.
func (w *world) below(by testbed.Identity, cn string, change func(*x509.Certificate)) testbed.Identity {
	key := w.ca.Issue("key", nil).Key
	name := pkix.Name{ExtraNames: append(append([]pkix.AttributeTypeAndValue(nil), by.Cert.Subject.Names...), pkix.AttributeTypeAndValue{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: cn})}
	template := &x509.Certificate{SerialNumber: big.NewInt(7), Subject: name, NotBefore: w.now.Add(-time.Hour), NotAfter: w.now.Add(11 * time.Hour), KeyUsage: x509.KeyUsageDigitalSignature}
	if change != nil {
		change(template)
	}
	return testbed.Identity{Cert: w.ca.Sign(template, by.Cert, key.Public(), by.Key), Key: key}
}

// secondBelowZero saves a proxy of a proxy that may not be delegated.
func (w *world) secondBelowZero() {
	first := w.bareProxy(func(c *x509.Certificate) { c.ExtraExtensions = []pkix.Extension{w.proxyInfo(0)} })
	second := w.below(first, "8", func(c *x509.Certificate) { c.ExtraExtensions = []pkix.Extension{w.proxyInfo(-1)} })
	w.pem(second, first.Cert, w.alice.Cert)
}

// acWith makes a proxy whose attributes have one thing wrong.
func (w *world) acWith(change func(*testbed.AC)) {
	ac := w.ac()
	change(&ac)
	w.proxy(credential.ProxyOptions{}, ac)
}

// rawAC makes a proxy whose VOMS extension is these bytes.
func (w *world) rawAC(value []byte) {
	w.pem(w.bareProxy(func(c *x509.Certificate) {
		c.ExtraExtensions = append(c.ExtraExtensions, pkix.Extension{Id: voms.OIDACSequence, Value: value})
	}), w.alice.Cert)
}

func (w *world) lsc(text string) { w.write("vomsdir/"+vo+"/voms.example.org.lsc", text, 0o644) }

// foreignVOMS has the attributes signed by a server whose authority is not
// trusted here, though vomsdir lists it.
func (w *world) foreignVOMS() {
	other := testbed.NewCA(w.t, "Other CA", w.now, nil)
	w.voms = other.Issue("voms.example.org", nil)
	w.lsc("/DC=org/CN=voms.example.org\n/DC=org/CN=Other CA\n")
	w.proxy(credential.ProxyOptions{}, w.ac())
}

// serveAs starts the endpoint with another certificate.
func (w *world) serveAs(change func(*x509.Certificate)) {
	w.serve(func(c *ce) { c.cert = w.ca.Server(change) })
}

// oldInfo is a CE whose information is of that age.
func (w *world) oldInfo(age time.Duration) func(*ce) {
	return func(c *ce) {
		c.answer = func(rw http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/info") {
				fmt.Fprintf(rw, `<ComputingService CreationTime="%s">`, w.now.Add(-age).UTC().Format(time.RFC3339))
				return
			}
			letIn(rw, r)
		}
	}
}
