package infosys

import (
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-ldap/ldap/v3"

	"gridbroker/credential"
	"gridbroker/testdata/testbed"
)

// slapd is a real LDAP server of the test's own with the samples of both
// schemas, reachable in the clear, through TLS and with StartTLS.
type slapd struct {
	plain, secure string // host:port
	cas           string // directory with the CA that signed its certificate
	empty         string // directory without
}

const slapdConf = `include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/nis.schema
include /etc/bdii/BDII.schema
include /etc/ldap/schema/Glue-CORE.schema
include /etc/ldap/schema/Glue-MDS.schema
include /etc/ldap/schema/Glue-CE.schema
include /etc/ldap/schema/Glue-CESEBind.schema
include /etc/ldap/schema/Glue-SE.schema
include /etc/ldap/schema/GLUE20.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile DIR/pid
TLSCACertificateFile DIR/ca.pem
TLSCertificateFile DIR/cert.pem
TLSCertificateKeyFile DIR/key.pem
sizelimit unlimited
database mdb
suffix o=grid
directory DIR/grid
maxsize 268435456
LIMITS
database mdb
suffix o=glue
directory DIR/glue
maxsize 268435456
LIMITS
`

const slapdRoots = `dn: o=%[1]s
objectClass: organization
o: %[1]s

`

// startSlapd starts a server with the given limits for the lifetime of the
// test, or skips.
func startSlapd(t *testing.T, limits string) slapd {
	t.Helper()
	for _, need := range []string{"/usr/sbin/slapd", "/etc/ldap/schema/GLUE20.schema", "/etc/bdii/BDII.schema"} {
		if _, err := os.Stat(need); err != nil {
			t.Skipf("no slapd with GLUE's schemas here (packages slapd, glue-schema, bdii): %v", err)
		}
	}
	dir := t.TempDir()
	s := slapd{plain: testbed.FreeAddress(t), secure: testbed.FreeAddress(t), cas: filepath.Join(dir, "cas"), empty: filepath.Join(dir, "empty")}
	makePKI(t, dir, s)
	conf := filepath.Join(dir, "slapd.conf")
	text := strings.NewReplacer("DIR", dir, "LIMITS", limits).Replace(slapdConf)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	load(t, conf, "o=grid", "glue1", fmt.Sprintf(slapdRoots, "grid")+"dn: Mds-Vo-name=local,o=grid\nobjectClass: MDS\nMds-Vo-name: local\n\n")
	load(t, conf, "o=glue", "glue2", fmt.Sprintf(slapdRoots, "glue")+"dn: GLUE2GroupID=grid,o=glue\nobjectClass: GLUE2Group\nGLUE2GroupID: grid\n\n")
	cmd := exec.Command("/usr/sbin/slapd", "-d", "0", "-f", conf, "-h", "ldap://"+s.plain+" ldaps://"+s.secure)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for range 100 {
		if conn, err := net.Dial("tcp", s.secure); err == nil {
			conn.Close()
			return s
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("slapd does not answer")
	return s
}

// load fills one tree from a sample.
func load(t *testing.T, conf, suffix, schema, roots string) {
	t.Helper()
	f, err := os.Open("../testdata/glue/generated-10-sites." + schema + ".ldif.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/usr/sbin/slapadd", "-q", "-f", conf, "-b", suffix)
	cmd.Stdin = io.MultiReader(strings.NewReader(roots), z)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("slapadd: %v\n%s", err, out)
	}
}

// makePKI makes the directories, a CA and a certificate for localhost (not for 127.0.0.1).
func makePKI(t *testing.T, dir string, s slapd) {
	t.Helper()
	cert := func(serial int64, name string, parent *x509.Certificate, by *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey, []byte) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		tmpl := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), BasicConstraintsValid: true}
		if parent == nil {
			tmpl.IsCA, tmpl.KeyUsage = true, x509.KeyUsageCertSign
			parent, by = tmpl, key
		} else {
			tmpl.DNSNames, tmpl.KeyUsage = []string{name}, x509.KeyUsageDigitalSignature
			tmpl.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		}
		der, err := x509.CreateCertificate(rand.Reader, tmpl, parent, key.Public(), by)
		if err != nil {
			t.Fatal(err)
		}
		made, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		return made, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	ca, caKey, caPEM := cert(1, "Test CA of slapd", nil, nil)
	_, key, hostPEM := cert(2, "localhost", ca, caKey)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{filepath.Join(s.cas, "ca.pem"): caPEM, filepath.Join(dir, "ca.pem"): caPEM, filepath.Join(dir, "cert.pem"): hostPEM,
		filepath.Join(dir, "key.pem"): pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})}
	for _, d := range []string{s.cas, s.empty, filepath.Join(dir, "grid"), filepath.Join(dir, "glue")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range files {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// opener verifies servers as the command does, against a directory of CAs.
func (s slapd) opener(t *testing.T, cas string) *Opener {
	t.Helper()
	return NewOpener(Env{Dialer: func(withCredential bool) (*credential.Dialer, error) {
		if withCredential {
			t.Error("an information system is shown a credential")
		}
		env := credential.Env{Now: time.Now, Getenv: func(string) string { return "" }}
		trust, err := credential.LoadTrust(env, credential.Options{CertDir: cas, CAs: credential.GridCA})
		if err != nil {
			return nil, err
		}
		return &credential.Dialer{Trust: trust}, nil
	}})
}

// LDAP through TLS and with StartTLS gives what plain LDAP gives, and nothing
// where the certificate does not hold.
func TestSlapdTLS(t *testing.T) {
	s := startSlapd(t, "")
	_, plain, _ := net.SplitHostPort(s.plain)
	_, secure, _ := net.SplitHostPort(s.secure)
	ask := func(cas, url string) (int, error) {
		src, err := s.opener(t, cas).Open(url)
		if err != nil {
			t.Fatal(err)
		}
		rs, err := src.Resources(t.Context())
		return len(rs), err
	}
	want, err := ask(s.cas, "ldap://"+s.plain)
	if err != nil || want < 100 {
		t.Fatalf("%d resources, %v", want, err)
	}
	for _, url := range []string{"ldaps://localhost:" + secure, "ldap+starttls://localhost:" + plain} {
		if got, err := ask(s.cas, url); err != nil || got != want {
			t.Errorf("%s: %d resources, want %d: %v", url, got, want, err)
		}
		if _, err := ask(s.empty, url); err == nil || !strings.Contains(err.Error(), "unknown authority") {
			t.Errorf("%s without the CA: %v", url, err)
		}
		other := strings.Replace(url, "localhost", "127.0.0.1", 1)
		if _, err := ask(s.cas, other); err == nil || !strings.Contains(err.Error(), "127.0.0.1") {
			t.Errorf("%s: a certificate for another name: %v", other, err)
		}
	}
	if _, err := ask(s.cas, "ldaps://localhost:"+plain); err == nil {
		t.Error("TLS on the port of plain LDAP")
	}
}

// What a server's limits leave is used, and they are got round by paging where
// that is allowed.
func TestSlapdSizeLimit(t *testing.T) {
	whole, err := ldapSource(t, "ldap://"+startSlapd(t, "").plain).Resources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		limits string
		code   int64 // 0: everything comes
	}{
		"pages are free":       {"limits * size.soft=40 size.hard=40 size.prtotal=unlimited", 0},
		"only of 200":          {"limits * size.soft=40 size.hard=40 size.prtotal=unlimited size.pr=200", 0},
		"soft":                 {"limits * size.soft=40 size.hard=unlimited", 0},
		"pages count together": {"limits * size.soft=40 size.hard=40", ldap.LDAPResultSizeLimitExceeded},
		"no pages":             {"limits * size.soft=40 size.hard=40 size.prtotal=disabled", ldap.LDAPResultSizeLimitExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			rs, err := ldapSource(t, "ldap://"+startSlapd(t, c.limits).plain).Resources(t.Context())
			if c.code == 0 {
				if err != nil || len(rs) != len(whole) {
					t.Errorf("%d resources of %d, %v", len(rs), len(whole), err)
				}
				return
			}
			e, ok := errors.AsType[*LDAPError](err)
			if !ok || e.Code != c.code {
				t.Errorf("%v", err)
			}
			if len(rs) < 40 || len(rs) >= len(whole) {
				t.Errorf("%d resources of %d", len(rs), len(whole))
			}
			for _, r := range rs {
				if len(r.Endpoints) > 0 && r.Queue != "" {
					return
				}
			}
			t.Error("none of them is of use")
		})
	}
}
