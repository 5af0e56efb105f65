package credential_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/credential/voms"
	"gridbroker/testdata/testbed"
)

// vomsBed is Debian's real VOMS server and its users.
type vomsBed struct {
	dir, vo string
	env     map[string]string
}

func needVOMS(t *testing.T) *vomsBed {
	env := testbed.Env(t, "voms")
	return &vomsBed{dir: env["GRID_VOMS_STATE"], vo: env["GRID_VOMS_VO"], env: env}
}

func (b *vomsBed) Env() credential.Env {
	return credential.Env{UID: os.Getuid(), Now: time.Now, Getenv: func(k string) string { return b.env[k] }}
}

func (b *vomsBed) options(user string) credential.Options {
	return credential.Options{CAs: credential.GridCA, Cert: filepath.Join(b.dir, user+".pem"), Key: filepath.Join(b.dir, user+".key")}
}

func (b *vomsBed) fetch(t *testing.T, user, want string, change func(*credential.Env, *credential.Options)) (*credential.X509, []*voms.AC, error) {
	env, opts := b.Env(), b.options(user)
	if change != nil {
		change(&env, &opts)
	}
	x, err := credential.FindUserCert(env, opts)
	if err != nil {
		t.Fatal(err)
	}
	trust, err := credential.LoadTrust(env, opts)
	if err != nil {
		t.Fatal(err)
	}
	acs, _, err := credential.FetchACs(t.Context(), env, opts, x, trust, []string{want}, time.Hour)
	return x, acs, err
}

func (b *vomsBed) proxy(t *testing.T, want, key string) string {
	x, acs, err := b.fetch(t, "alice", want, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := x.NewProxy(credential.ProxyOptions{ACs: acs, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "proxy")
	if err := p.Save(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// tool runs one of the field's commands with the test's environment.
func tool(t *testing.T, env map[string]string, argv ...string) string {
	t.Helper()
	if _, err := exec.LookPath(argv[0]); err != nil {
		t.Skipf("%s is not installed", argv[0])
	}
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	for k, v := range env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", argv, err, out)
	}
	return string(out)
}

// The real server's attributes, in proxies of every kind of key, as the
// field's own command reads and verifies them.
func TestVOMSProxyReadByTools(t *testing.T) {
	b := needVOMS(t)
	for _, key := range []string{"rsa2048", "ecdsa", "ecdsa521"} {
		path := b.proxy(t, b.vo+":/"+b.vo+"/Role=production,/"+b.vo+"/students", key)
		env := map[string]string{"X509_USER_PROXY": path, "X509_CERT_DIR": b.env["X509_CERT_DIR"], "X509_VOMS_DIR": b.env["X509_VOMS_DIR"]}
		out := tool(t, env, "voms-proxy-info2", "-all")
		for _, want := range []string{"type      : RFC compliant proxy", "VO        : " + b.vo, "/Role=production/", "/students/", "CN=Alice Tester"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: voms-proxy-info2 does not say %q:\n%s", key, want, out)
			}
		}
		if out := tool(t, env, "arcproxy", "-I"); !strings.Contains(out, "RFC inheritAll proxy") {
			t.Errorf("%s: arcproxy says:\n%s", key, out)
		}
	}
}

// Proxies made by the field's own commands.
func TestProxiesOfTools(t *testing.T) {
	b := needVOMS(t)
	dir := t.TempDir()
	cert, key := filepath.Join(b.dir, "alice.pem"), filepath.Join(b.dir, "alice.key")
	tools := map[string]string{"X509_CERT_DIR": b.env["X509_CERT_DIR"], "X509_VOMS_DIR": b.env["X509_VOMS_DIR"]}
	for name, argv := range map[string][]string{
		"init": {"voms-proxy-init2", "-voms", b.vo, "-vomses", b.env["X509_VOMSES"], "-cert", cert, "-key", key, "-out", dir + "/init"},
		"fake": {"voms-proxy-fake", "-rfc", "-newformat", "-cert", cert, "-key", key, "-certdir", b.env["X509_CERT_DIR"], "-hostcert", b.dir + "/voms.pem",
			"-hostkey", b.dir + "/voms.key", "-voms", b.vo, "-uri", "localhost:1", "-fqan", "/" + b.vo + "/Role=NULL/Capability=NULL", "-out", dir + "/fake"},
		"arcproxy": {"arcproxy", "-C", cert, "-K", key, "-P", dir + "/arcproxy"},
	} {
		t.Run(name, func(t *testing.T) {
			tool(t, tools, argv...)
			set, err := credential.Discover(b.Env(), credential.Options{Proxy: dir + "/" + name, NoToken: true, CAs: credential.GridCA})
			if err != nil {
				t.Fatal(err)
			}
			set.Verify(b.env["X509_VOMS_DIR"])
			if len(set.Findings) > 0 || set.X509.Identity() != "/DC=org/DC=example/CN=Alice Tester" {
				t.Errorf("%s: %v", set.X509.Identity(), set.Findings)
			}
			if fqans := set.X509.FQANs(); name != "arcproxy" && !slices.Contains(fqans, "/"+b.vo) {
				t.Errorf("FQANs %v", fqans)
			}
		})
	}
}

// What the real server or our checks refuse, each with its own finding.
func TestVOMSRefusals(t *testing.T) {
	b := needVOMS(t)
	own := func(line string) func(*credential.Env, *credential.Options) {
		return func(e *credential.Env, _ *credential.Options) {
			file := filepath.Join(t.TempDir(), "vomses")
			if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
				t.Fatal(err)
			}
			e.Getenv = func(k string) string {
				if k == "X509_VOMSES" {
					return file
				}
				return b.env[k]
			}
		}
	}
	port := b.env["GRID_VOMS_PORT"]
	for _, tt := range []struct {
		user, want, id, said string
		change               func(*credential.Env, *credential.Options)
	}{
		{"mallory", b.vo, "voms.refused", "unknown", nil},
		{"bob", b.vo + ":/" + b.vo + "/Role=production", "voms.refused", "Unable to satisfy", nil},
		{"alice", "nosuchvo", "voms.no-server", "vomses", nil},
		{"alice", b.vo, "voms.no-lsc", "lsc", func(_ *credential.Env, o *credential.Options) { o.VOMSDir = t.TempDir() }},
		{"alice", b.vo, "server.unknown-ca", "issued by", func(_ *credential.Env, o *credential.Options) { o.CertDir = b.dir + "/other-certificates" }},
		{"alice", b.vo, "voms.unavailable", "refused", own(fmt.Sprintf(`"%s" "localhost" "1" "" "%s"`, b.vo, b.vo))},
		{"alice", b.vo, "voms.server-dn", "expects", own(fmt.Sprintf(`"%s" "localhost" "%s" "/CN=else" "%s"`, b.vo, port, b.vo))},
		{"alice", b.vo, "<nil>", "", own(fmt.Sprintf("\"%s\" \"localhost\" \"1\" \"\" \"%s\"\n\"%s\" \"localhost\" \"%s\" \"\" \"%s\"", b.vo, b.vo, b.vo, port, b.vo))},
	} {
		_, _, err := b.fetch(t, tt.user, tt.want, tt.change)
		f, _ := errors.AsType[*credential.Finding](err)
		switch {
		case tt.id == "<nil>" && err == nil:
		case f == nil || f.ID != tt.id || !strings.Contains(f.Error(), tt.said):
			t.Errorf("%s wants %s: %v; want %s", tt.user, tt.want, err, tt.id)
		}
	}
}

// Attributes of the real server that were tampered with, moved to another
// certificate, or are out of their time.
func TestVOMSTampered(t *testing.T) {
	b := needVOMS(t)
	x, acs, err := b.fetch(t, "alice", b.vo, nil)
	if err != nil {
		t.Fatal(err)
	}
	trust, err := credential.LoadTrust(b.Env(), b.options("alice"))
	if err != nil {
		t.Fatal(err)
	}
	raw := acs[0].Raw
	bent := slices.Clone(raw)
	at := strings.Index(string(raw), "/students")
	copy(bent[at:], "/teachers")
	parsed, err := voms.Parse(bent)
	if err != nil {
		t.Fatal(err)
	}
	_, bobs, err := b.fetch(t, "bob", b.vo, nil)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().Add(time.Second)
	for want, tt := range map[string]struct {
		ac  *voms.AC
		now time.Time
	}{
		"": {acs[0], now}, "signature": {parsed, now}, "holder": {bobs[0], now},
		"expired": {acs[0], now.Add(2 * time.Hour)}, "not-yet-valid": {acs[0], now.Add(-time.Hour)},
	} {
		v := voms.Verifier{Dir: b.env["X509_VOMS_DIR"], Now: tt.now, Chain: trust.VerifyChain}
		got := ""
		if e, ok := errors.AsType[*voms.VerifyError](v.Verify(tt.ac, x.Chain()[0])); ok {
			got = e.Code
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A revoked user: told here, before the server is asked.
func TestRevoked(t *testing.T) {
	b := needVOMS(t)
	x, err := credential.FindUserCert(b.Env(), b.options("revoked"))
	if err != nil {
		t.Fatal(err)
	}
	trust, err := credential.LoadTrust(b.Env(), b.options("revoked"))
	if err != nil {
		t.Fatal(err)
	}
	if f, ok := errors.AsType[*credential.Finding](trust.Verify(x)); !ok || f.ID != "x509.revoked" {
		t.Errorf("got %v", f)
	}
}

// Proxies of ours at real CEs: every kind of key that they take, limited and
// of second generation.
func TestProxiesAtARC(t *testing.T) {
	bed := testbed.NeedARC(t)
	opts := credential.Options{CertDir: bed.CADir, CAs: credential.GridCA,
		Cert: filepath.Join(bed.Users, "alice/usercert.pem"), Key: filepath.Join(bed.Users, "alice/userkey.pem")}
	env := credential.Env{UID: os.Getuid(), Now: time.Now}
	user, err := credential.FindUserCert(env, opts)
	if err != nil {
		t.Fatal(err)
	}
	trust, err := credential.LoadTrust(env, opts)
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]credential.ProxyOptions{"rsa2048": {}, "rsa3072": {Key: "rsa3072"}, "ecdsa521": {Key: "ecdsa521"}, "limited": {Limited: true}} {
		p, err := user.NewProxy(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, ce := range bed.All() {
			if status := list(t.Context(), trust.ClientConfig(p, ""), ce); status != "200 OK" {
				t.Errorf("%s at %s: %s", name, ce, status)
			}
		}
	}
}

func list(ctx context.Context, cfg *tls.Config, ce string) string {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: cfg}, Timeout: 20 * time.Second}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, ce+"/rest/1.0/jobs", nil)
	if err != nil {
		return err.Error()
	}
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		if resp, err = client.Do(req); err != nil { // A-REX spoils a new connection now and then
			return err.Error()
		}
	}
	resp.Body.Close()
	return resp.Status
}
