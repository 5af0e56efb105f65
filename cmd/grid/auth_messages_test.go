package main_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/cmd/cli"
	"gridbroker/credential"
	"gridbroker/credential/voms"
	"gridbroker/testdata/testbed"
)

// patient is a user with something wrong.
type patient struct {
	*user
	shift time.Duration // how far this machine's clock is ahead
}

// says runs the command and returns its exit code and all it said.
func (u *patient) says(args ...string) (code int, text string) {
	var out bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	code = cli.Main(ctx, cli.Env{In: strings.NewReader(""), Out: &out, Err: &out, Dir: u.dir, Now: func() time.Time { return time.Now().Add(u.shift) }, UID: os.Getuid(),
		Exe: os.Args[0], Getenv: func(name string) string { return u.env[name] }}, args)
	return code, out.String()
}

// aliceOf is the testbed's alice with her own certificate.
func aliceOf(t *testing.T, bed *testbed.ARC) *credential.X509 {
	t.Helper()
	x, err := credential.FindUserCert(credential.Env{UID: os.Getuid(), Now: time.Now},
		credential.Options{Cert: filepath.Join(bed.Users, "alice/usercert.pem"), Key: filepath.Join(bed.Users, "alice/userkey.pem")})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// proxy gives the user a proxy of the testbed's alice.
func (u *patient) proxy(bed *testbed.ARC, o credential.ProxyOptions) {
	u.t.Helper()
	p, err := aliceOf(u.t, bed).NewProxy(o)
	if err != nil {
		u.t.Fatal(err)
	}
	u.save(p)
}

func (u *patient) save(p *credential.X509) {
	u.t.Helper()
	u.env["X509_USER_PROXY"] = filepath.Join(u.dir, "proxy")
	if err := p.Save(u.env["X509_USER_PROXY"]); err != nil {
		u.t.Fatal(err)
	}
}

// wrong is a way in which a credential is not as it should be, and the
// findings that submission and doctor must name. submit "": the CE does not
// mind, the job is taken.
type wrong struct {
	name, submit, doctor, says string
	only                       string // CE of this name
	spoil                      func(*patient, *testbed.ARC)
}

var wrongs = []wrong{
	{name: "expired", submit: "x509.expired", doctor: "x509.expired", says: "grid auth proxy", spoil: func(u *patient, bed *testbed.ARC) {
		u.proxy(bed, credential.ProxyOptions{Lifetime: time.Second}) // the user's certificate may be minutes old
		time.Sleep(2 * time.Second)
	}},
	{name: "wrong key", submit: "x509.key-mismatch", doctor: "x509.key-mismatch", says: "does not belong to the certificate", spoil: (*patient).foreignKey},
	{name: "wrong CA", submit: "refused.unknown-ca", doctor: "refused.unknown-ca", says: "ask the site to install that CA", spoil: (*patient).foreignCA},
	{name: "curve that ARC 7 refuses", submit: "refused.unsupported", doctor: "refused.unsupported", says: "--key rsa2048", only: "arex4", spoil: func(u *patient, bed *testbed.ARC) {
		u.proxy(bed, credential.ProxyOptions{Key: "ecdsa"})
	}},
	{name: "clock ahead", submit: "refused.bad-certificate", doctor: "clock.skew", says: "ahead of the server's", spoil: func(u *patient, bed *testbed.ARC) {
		u.shift = time.Hour
		u.proxy(bed, credential.ProxyOptions{Now: time.Now().Add(time.Hour)})
	}},
	{name: "stranger", submit: "voms.none", doctor: "endpoint.x509-refused", says: "CN=Mallory Stranger", spoil: func(u *patient, bed *testbed.ARC) {
		u.env["X509_USER_PROXY"] = bed.Proxy("mallory")
	}},
	{name: "nothing", submit: "credential.absent", doctor: "credential.absent", says: "grid auth login", spoil: func(u *patient, _ *testbed.ARC) { delete(u.env, "X509_USER_PROXY") }},
	{name: "limited", doctor: "x509.limited", says: "limited", spoil: func(u *patient, bed *testbed.ARC) { u.proxy(bed, credential.ProxyOptions{Limited: true}) }},
	{name: "revoked, as only this machine knows", doctor: "x509.revoked", says: "was revoked on", spoil: (*patient).revoked},
	{name: "tampered attributes", doctor: "voms.signature", says: "altered", spoil: (*patient).tampered},
	{name: "token expired", submit: "token.expired", doctor: "token.expired", says: "grid auth login", spoil: func(u *patient, bed *testbed.ARC) {
		u.token(bed, map[string]any{"exp": time.Now().Add(-time.Hour).Unix()})
	}},
	{name: "token of another issuer", submit: "endpoint.token-refused", doctor: "endpoint.token-refused", says: "https://elsewhere.example.org/", spoil: func(u *patient, bed *testbed.ARC) {
		u.token(bed, map[string]any{"iss": "https://elsewhere.example.org/"})
	}},
	{name: "token for another audience", submit: "token.audience", doctor: "token.audience", says: "--audience https://arex", spoil: func(u *patient, bed *testbed.ARC) {
		u.token(bed, map[string]any{"aud": "https://elsewhere.example.org"})
	}},
	{name: "token for another audience, refused", submit: "token.audience", doctor: "token.audience", says: "--audience https://arex", only: "arex4", spoil: func(u *patient, bed *testbed.ARC) {
		u.token(bed, map[string]any{"aud": "https://elsewhere.example.org", "iss": "https://elsewhere.example.org/"})
	}},
	{name: "token without the scope", submit: "token.scope", doctor: "endpoint.token-refused", says: "compute.create", only: "arex5", spoil: func(u *patient, bed *testbed.ARC) {
		u.token(bed, map[string]any{"scope": "openid"})
	}},
}

// Every way in which a credential is wrong has a message of its own, at CEs of
// both versions, that names the finding; and the doctor finds it.
func TestMessagesAboutCredentials(t *testing.T) {
	t.Parallel()
	bed := testbed.NeedARC(t)
	ces := append([]string{bed.REST10[0]}, bed.REST11...)
	for _, tt := range wrongs {
		for _, ce := range ces {
			name := strings.Split(strings.TrimPrefix(ce, "https://"), ".")[0]
			if tt.only != "" && tt.only != name || tt.only == "" && name == "arex5" {
				continue
			}
			t.Run(tt.name+" at "+name, func(t *testing.T) {
				t.Parallel()
				u := &patient{user: newUser(t, bed)}
				tt.spoil(u, bed)
				u.check(tt, ce)
			})
		}
	}
}

func (u *patient) check(tt wrong, ce string) {
	code, text := u.says("submit", "--no-cache", "--info", ce, u.write("job.jdl", `Executable = "/bin/true";`))
	u.t.Logf("submit ends with %d:\n%s", code, text)
	if tt.submit == "" {
		if code != 0 {
			u.t.Errorf("submit: exit code %d, though the CE does not mind", code)
		}
		u.says("cancel", "--all")
		u.says("clean", "--all", "--force")
	} else if code != 4 || !strings.Contains(text, "["+tt.submit+"]") {
		u.t.Errorf("submit: exit code %d, want 4 and %s in what it says", code, tt.submit)
	}
	code, text = u.says("auth", "doctor", ce)
	u.t.Logf("doctor ends with %d:\n%s", code, text)
	if tt.submit != "" && code != 4 || !strings.Contains(text, "["+tt.doctor+"]") || !strings.Contains(text, tt.says) {
		u.t.Errorf("doctor: exit code %d, want %s, saying %q", code, tt.doctor, tt.says)
	}
}

// foreignKey puts a certificate and somebody else's key together.
func (u *patient) foreignKey(bed *testbed.ARC) {
	text := ""
	for _, name := range []string{"alice/usercert.pem", "bob/userkey.pem"} {
		part, err := os.ReadFile(filepath.Join(bed.Users, name))
		if err != nil {
			u.t.Fatal(err)
		}
		text += string(part)
	}
	u.env["X509_USER_PROXY"] = filepath.Join(u.dir, u.write("proxy", text))
}

// foreignCA gives the user a certificate of an authority that no CE knows.
func (u *patient) foreignCA(*testbed.ARC) {
	id := testbed.NewCA(u.t, "Elsewhere", time.Now(), nil).Issue("Alice", nil)
	x, err := credential.NewX509([]*x509.Certificate{id.Cert}, id.Key, "")
	if err != nil {
		u.t.Fatal(err)
	}
	p, err := x.NewProxy(credential.ProxyOptions{})
	if err != nil {
		u.t.Fatal(err)
	}
	u.save(p)
}

// revoked gives the user a revocation list that names alice.
func (u *patient) revoked(bed *testbed.ARC) {
	dir := filepath.Join(u.dir, "certificates")
	if err := os.CopyFS(dir, os.DirFS(bed.CADir)); err != nil {
		u.t.Fatal(err)
	}
	ca := testbed.OpenCA(u.t, bed.CACert, bed.CAKey, time.Now())
	alice, err := tls.LoadX509KeyPair(filepath.Join(bed.Users, "alice/usercert.pem"), filepath.Join(bed.Users, "alice/userkey.pem"))
	if err != nil {
		u.t.Fatal(err)
	}
	testbed.WriteFile(u.t, filepath.Join(dir, credential.NameHash(ca.Cert.RawSubject)+".r0"), ca.CRL(time.Now().Add(-time.Hour), time.Now().Add(time.Hour), alice.Leaf.SerialNumber), 0o644)
	u.env["X509_CERT_DIR"] = dir
}

// tampered gives the user VOMS attributes that their server did not sign so.
func (u *patient) tampered(bed *testbed.ARC) {
	ca, x, vo := testbed.OpenCA(u.t, bed.CACert, bed.CAKey, time.Now()), aliceOf(u.t, bed), "testers.example.org"
	server := ca.Issue("voms", func(c *x509.Certificate) { c.Subject, c.RawSubject = pkix.Name{}, ca.Cert.RawSubject })
	ac := testbed.AC{Holder: x.Chain()[0], Issuer: server.Cert, Key: server.Key, VO: vo, Host: "voms.example.org:15000", FQANs: []string{"/" + vo + "/students"},
		From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour), Chain: []*x509.Certificate{server.Cert}}
	parsed, err := voms.Parse(bytes.Replace(ac.DER(u.t), []byte("/students"), []byte("/teachers"), 1))
	if err != nil {
		u.t.Fatal(err)
	}
	u.proxy(bed, credential.ProxyOptions{ACs: []*voms.AC{parsed}})
	u.env["X509_VOMS_DIR"] = filepath.Join(u.dir, "vomsdir")
	dn := credential.DN(ca.Cert.RawSubject)
	testbed.WriteFile(u.t, filepath.Join(u.dir, "vomsdir", vo, "voms.example.org.lsc"), []byte(dn+"\n"+dn+"\n"), 0o644)
}

func (u *patient) token(bed *testbed.ARC, extra map[string]any) {
	u.t.Helper()
	text, err := bed.Issuer.Token("alice", time.Hour, extra)
	if err != nil {
		u.t.Fatal(err)
	}
	delete(u.env, "X509_USER_PROXY")
	u.env["BEARER_TOKEN_FILE"] = filepath.Join(u.dir, u.write("token", text))
}
