package cli

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/testdata/testbed"
)

// endingScene is a scheduler whose certificate ends in a week, an authority that ends in twenty days, and its
// revocation list, which ends in an hour; another authority is well.
type endingScene struct {
	dir  string
	now  time.Time
	own  tls.Certificate
	well *testbed.CA
}

func newEndingScene(t *testing.T) endingScene {
	s := endingScene{dir: t.TempDir(), now: time.Now()}
	well := testbed.NewCA(t, "Well", s.now, nil)
	old := testbed.NewCA(t, "Old", s.now, func(c *x509.Certificate) { c.NotAfter = s.now.AddDate(0, 0, 20) })
	for _, ca := range []*testbed.CA{well, old} {
		ca.Install(s.dir, credential.NameHash(ca.Cert.RawSubject), "/DC=org/CN="+ca.Cert.Subject.CommonName)
	}
	testbed.WriteFile(t, s.list(old), old.CRL(s.now.AddDate(0, 0, -1), s.now.Add(time.Hour)), 0o644)
	s.well, s.own = well, well.Server(func(c *x509.Certificate) { c.NotAfter = s.now.AddDate(0, 0, 7) })
	testbed.WriteFile(t, filepath.Join(s.dir, "host.crt"), testbed.PEM(s.own.Leaf), 0o644)
	testbed.WriteFile(t, filepath.Join(s.dir, "host.key"), testbed.KeyPEM(t, s.own.PrivateKey.(crypto.Signer)), 0o600)
	return s
}

func (s endingScene) list(ca *testbed.CA) string {
	return filepath.Join(s.dir, credential.NameHash(ca.Cert.RawSubject)+".r0")
}

// doctor is what the scheduler's finds wrong with its certificate and the authorities.
func (s endingScene) doctor() (said []string) {
	d := &deps{env: Env{Now: func() time.Time { return s.now }, Getenv: func(name string) string { return map[string]string{"X509_CERT_DIR": s.dir}[name] }, UID: os.Getuid(), Dir: s.dir, Err: io.Discard}}
	doctorEnds(d, schedulerConfig{Cert: filepath.Join(s.dir, "host.crt"), Key: filepath.Join(s.dir, "host.key")}, func(ok bool, format string, args ...any) {
		if !ok {
			said = append(said, fmt.Sprintf(format, args...))
		}
	})
	return said
}

// The scheduler's doctor tells where its certificate is none that grid clients believe: its authority's signing policy does
// not permit the name or cannot be read, or it was revoked. A certificate of a public authority may be as good.
func TestSchedulerDoctorReadsPolicies(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s endingScene, base string)
		want   string
	}{
		"another name": {func(s endingScene, base string) {
			testbed.WriteFile(t, base+".signing_policy", []byte("access_id_CA X509 '/DC=org/CN=Well'\npos_rights globus CA:sign\ncond_subjects globus '\"/DC=elsewhere/*\"'\n"), 0o644)
		}, "certificate: /DC=org/CN=localhost: this CA may not sign this name"},
		"no policy": {func(s endingScene, base string) {
			testbed.WriteFile(t, base+".signing_policy", []byte("access_id_CA X509\n"), 0o644)
		}, "the signing policy cannot be read"},
		"revoked": {func(s endingScene, base string) {
			testbed.WriteFile(t, base+".r0", s.well.CRL(s.now.AddDate(0, 0, -1), s.now.AddDate(0, 1, 0), s.own.Leaf.SerialNumber), 0o644)
		}, "the certificate was revoked on"},
		"public authority": {func(s endingScene, base string) {
			if err := errors.Join(os.Remove(base+".0"), os.Remove(base+".signing_policy"), os.Remove(base+".r0")); err != nil {
				t.Fatal(err)
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEndingScene(t)
			before := len(s.doctor())
			c.change(s, filepath.Join(s.dir, credential.NameHash(s.well.Cert.RawSubject)))
			said := s.doctor()
			if text := strings.Join(said, "\n"); !strings.Contains(text, c.want) || c.want == "" && len(said) != before {
				t.Errorf("want %q\n%s", c.want, text)
			}
		})
	}
}

// A daemon warns once a day of what ends soon of its certificates, authorities and revocation lists, and tells
// monitors how long the first of each kind is good for; doctor tells the same.
func TestWhatEndsSoonIsTold(t *testing.T) {
	s := newEndingScene(t)
	env := credential.Env{UID: os.Getuid(), Now: func() time.Time { return s.now }}
	trust := credential.Authorities(env, credential.Options{CertDir: s.dir, CAs: credential.GridCA}, func(err error) { t.Error(err) })
	var log bytes.Buffer
	left, told := map[string]time.Duration{}, map[string]time.Time{}
	e := ends{own: []func() *tls.Certificate{func() *tls.Certificate { return &s.own }}, trust: trust}
	for _, c := range []struct{ hours, lines int }{{0, 3}, {23, 0}, {25, 3}} {
		log.Reset()
		e.tell(s.now.Add(time.Duration(c.hours)*time.Hour), slog.New(slog.NewTextHandler(&log, nil)), told, func(kind string, l time.Duration) { left[kind] = l })
		if n := strings.Count(log.String(), "renew what ends"); n != c.lines {
			t.Errorf("after %d hours: %d warnings, want %d\n%s", c.hours, n, c.lines, log.String())
		}
	}
	for kind, want := range map[string]time.Duration{"host certificate": 7*24*time.Hour - 25*time.Hour, "authority": 20*24*time.Hour - 25*time.Hour, "revocation list": -24 * time.Hour} {
		if (left[kind] - want).Abs() > time.Minute {
			t.Errorf("%s: %v left, want %v", kind, left[kind], want)
		}
	}
	said := s.doctor()
	text := strings.Join(said, "\n")
	if len(said) != 3 || !strings.HasPrefix(text, "host certificate ") || !strings.Contains(text, "revocation list "+s.dir) || !strings.Contains(text, "authority /DC=org/CN=Old") {
		t.Errorf("doctor:\n%s", text)
	}
}
