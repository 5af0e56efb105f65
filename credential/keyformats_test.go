package credential_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/credential"
)

// pki is an authority and users made with the openssl command, whose files are
// the ones that people have.
type pki struct {
	t   *testing.T
	dir string
}

func newPKI(t *testing.T) *pki {
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("openssl is not installed")
	}
	p := &pki{t, t.TempDir()}
	p.run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-keyout", "ca.key", "-out", "ca.pem", "-config", "/dev/null", "-subj", "/DC=org/CN=CA",
		"-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign")
	hash := strings.TrimSpace(p.run("openssl", "x509", "-in", "ca.pem", "-noout", "-hash"))
	text, err := os.ReadFile(p.path("ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	p.write("certificates/"+hash+".0", string(text))
	p.write("certificates/"+hash+".signing_policy", "access_id_CA X509 '/DC=org/CN=CA'\npos_rights globus CA:sign\ncond_subjects globus '\"/DC=org/*\"'\n")
	return p
}

func (p *pki) path(name string) string { return filepath.Join(p.dir, name) }

func (p *pki) write(name, text string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(p.path(name)), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(p.path(name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *pki) run(argv ...string) string {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), argv[0], argv[1:]...)
	cmd.Dir = p.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("%v: %v\n%s", argv, err, out)
	}
	return string(out)
}

// user makes NAME.key, PKCS#8 without encryption, and NAME.pem.
func (p *pki) user(name string, genpkey ...string) {
	p.run(append([]string{"openssl", "genpkey", "-out", name + ".key"}, genpkey...)...)
	p.run("openssl", "req", "-new", "-key", name+".key", "-out", name+".csr", "-config", "/dev/null", "-subj", "/DC=org/CN="+name)
	p.write(name+".ext", "basicConstraints=CA:FALSE\nkeyUsage=digitalSignature,keyEncipherment\n")
	p.run("openssl", "x509", "-req", "-in", name+".csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "10", "-sha256", "-extfile", name+".ext", "-out", name+".pem")
}

func (p *pki) find(cert, key, pass string) (*credential.X509, int, error) {
	asked := 0
	x, err := p.ask(cert, key, func(string) ([]byte, error) { asked++; return []byte(pass), nil })
	return x, asked, err
}

func (p *pki) ask(cert, key string, ask func(string) ([]byte, error)) (*credential.X509, error) {
	o := credential.Options{Cert: p.path(cert), Passphrase: ask}
	if key != "" {
		o.Key = p.path(key)
	}
	return credential.FindUserCert(credential.Env{UID: os.Getuid(), Now: time.Now}, o)
}

var keyKinds = map[string][]string{
	"rsa2048": {"-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"}, "rsa3072": {"-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:3072"},
	"rsa4096": {"-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:4096"}, "p256": {"-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"},
	"p384": {"-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"}, "p521": {"-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-521"},
}

// Every kind of key in every form that OpenSSL has written it in: the proxy
// made from it is verified by OpenSSL and read by ARC's and VOMS's commands.
func TestKeyFormats(t *testing.T) {
	p := newPKI(t)
	forms := map[string][]string{
		"plain":       nil,
		"traditional": {"pkey", "-traditional"},
		"pkcs8-aes":   {"pkcs8", "-topk8", "-v2", "aes-256-cbc", "-passout", "pass:open sesame"},
		"pkcs8-3des":  {"pkcs8", "-topk8", "-v2", "des3", "-passout", "pass:open sesame"},
		"pem-aes":     {"pkey", "-traditional", "-aes128", "-passout", "pass:open sesame"},
		"pem-3des":    {"pkey", "-traditional", "-des3", "-passout", "pass:open sesame"},
		"p12-new":     {"-keypbe", "AES-256-CBC", "-certpbe", "AES-256-CBC", "-macalg", "sha256"},
		"p12-3des":    {"-legacy", "-keypbe", "PBE-SHA1-3DES", "-certpbe", "PBE-SHA1-3DES", "-macalg", "sha1"},
		"p12-rc2":     {"-legacy", "-keypbe", "PBE-SHA1-3DES", "-certpbe", "PBE-SHA1-RC2-40", "-macalg", "sha1"},
	}
	for kind, genpkey := range keyKinds {
		p.user(kind, genpkey...)
		for form, argv := range forms {
			cert, key := kind+".pem", kind+".key"
			switch {
			case strings.HasPrefix(form, "p12"):
				cert, key = kind+"-"+form+".p12", ""
				p.run(append([]string{"openssl", "pkcs12", "-export", "-in", kind + ".pem", "-inkey", kind + ".key", "-certfile", "ca.pem", "-out", cert, "-passout", "pass:open sesame"}, argv...)...)
			case argv != nil:
				key = kind + "-" + form + ".key"
				p.run(append(append([]string{"openssl"}, argv...), "-in", kind+".key", "-out", key)...)
			}
			x, asked, err := p.find(cert, key, "open sesame")
			if err != nil {
				t.Errorf("%s %s: %v", kind, form, err)
				continue
			}
			if encrypted := form != "plain" && form != "traditional"; (asked == 1) != encrypted {
				t.Errorf("%s %s: asked %d times", kind, form, asked)
			}
			if asked > 0 {
				if _, n, err := p.find(cert, key, "wrong"); !has(err, "x509.passphrase") || n != 3 {
					t.Errorf("%s %s with a wrong passphrase, asked %d times: %v", kind, form, n, err)
				}
				nobody := errors.New("nobody is there")
				if _, err := p.ask(cert, key, func(string) ([]byte, error) { return nil, nobody }); !has(err, "x509.passphrase") || !errors.Is(err, nobody) {
					t.Errorf("%s %s where nobody can be asked: %v", kind, form, err)
				}
			}
			if form == "plain" {
				p.judge(kind, x)
			}
		}
	}
}

// judge has the field's commands look at proxies of a user.
func (p *pki) judge(kind string, x *credential.X509) {
	for _, key := range []string{"rsa2048", "ecdsa", "ecdsa384", "ecdsa521"} {
		proxy, err := x.NewProxy(credential.ProxyOptions{Key: key})
		if err != nil {
			p.t.Errorf("%s below %s: %v", key, kind, err)
			continue
		}
		second, err := proxy.NewProxy(credential.ProxyOptions{Key: key, Limited: true})
		if err != nil {
			p.t.Fatal(err)
		}
		file := p.path(fmt.Sprintf("%s-%s.proxy", kind, key))
		if err := second.Save(file); err != nil {
			p.t.Fatal(err)
		}
		out := p.run("openssl", "verify", "-allow_proxy_certs", "-CAfile", "ca.pem", "-untrusted", file, file)
		if !strings.Contains(out, ": OK") {
			p.t.Errorf("%s below %s: openssl says %s", key, kind, out)
		}
		env := map[string]string{"X509_USER_PROXY": file, "X509_CERT_DIR": p.path("certificates")}
		for _, argv := range [][]string{{"arcproxy", "-I"}, {"voms-proxy-info2", "-all"}} {
			if _, err := exec.LookPath(argv[0]); err != nil {
				continue
			}
			if out := tool(p.t, env, argv...); !strings.Contains(out, "CN="+kind) || !strings.Contains(out, "RFC compliant") {
				p.t.Errorf("%s below %s: %s says %s", key, kind, argv[0], out)
			}
		}
	}
}

// Ed25519 is refused, with a reason, before a server does it without one.
func TestEd25519(t *testing.T) {
	p := newPKI(t)
	p.user("ed", "-algorithm", "ED25519")
	x, _, err := p.find("ed.pem", "ed.key", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Valid(time.Now()); !has(err, "x509.key-kind") || !strings.Contains(err.Error(), "Ed25519") {
		t.Errorf("got %v", err)
	}
	if _, err := x.NewProxy(credential.ProxyOptions{}); !has(err, "x509.key-kind") {
		t.Errorf("got %v", err)
	}
}

func has(err error, id string) bool {
	f, ok := errors.AsType[*credential.Finding](err)
	return ok && f.ID == id
}
