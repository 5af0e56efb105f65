package credential

import (
	"bytes"
	"crypto/rand"
	"crypto/x509"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func crlOf(t testing.TB, ca *testCA, next time.Time, revoked ...*big.Int) []byte {
	t.Helper()
	list := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: testNow.AddDate(0, -2, 0), NextUpdate: next}
	for _, s := range revoked {
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: s, RevocationTime: testNow.AddDate(0, 0, -3)})
	}
	der, err := x509.CreateRevocationList(rand.Reader, list, ca.cert, ca.key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// Authorities whose files have the same hash: two of one name with different
// keys, and (made so) two of different names. Each is bound by its own lists.
func TestHashCollisions(t *testing.T) {
	next, past := testNow.AddDate(0, 1, 0), testNow.Add(-time.Hour)
	old, renewed, other := newCA(t, "CA"), newCA(t, "CA"), newCA(t, "Other")
	alice, bob, carol := old.user(t, "Alice", nil), renewed.user(t, "Bob", nil), other.user(t, "Carol", nil)
	serial := func(x *X509) *big.Int { return x.chain[0].SerialNumber }
	for _, tt := range []struct {
		name              string
		crls              [][]byte
		alice, bob, carol string
	}{
		{"no lists", nil, "<nil>", "<nil>", "<nil>"},
		{"own lists", [][]byte{crlOf(t, old, next), crlOf(t, renewed, next), crlOf(t, other, next)}, "<nil>", "<nil>", "<nil>"},
		{"last list revokes", [][]byte{crlOf(t, old, next), crlOf(t, renewed, next), crlOf(t, other, next, serial(carol))}, "<nil>", "<nil>", "x509.revoked"},
		{"same serial elsewhere", [][]byte{crlOf(t, renewed, next, serial(alice)), crlOf(t, old, next)}, "<nil>", "<nil>", "<nil>"},
		{"new key revokes", [][]byte{crlOf(t, old, next), crlOf(t, renewed, next, serial(bob))}, "<nil>", "x509.revoked", "<nil>"},
		{"one stale list", [][]byte{crlOf(t, old, past), crlOf(t, renewed, next)}, "trust.crl-expired", "<nil>", "<nil>"},
		{"stale and current", [][]byte{crlOf(t, old, past), crlOf(t, old, next), crlOf(t, renewed, next)}, "<nil>", "<nil>", "<nil>"},
		{"stale list revokes too", [][]byte{crlOf(t, old, past, serial(alice)), crlOf(t, old, next)}, "x509.revoked", "trust.crl-malformed", "<nil>"},
		{"unreadable list last", [][]byte{crlOf(t, old, next), []byte("hello")}, "<nil>", "trust.crl-malformed", "trust.crl-malformed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for i, ca := range []*testCA{old, renewed, other} {
				write(t, fmt.Sprintf("%s/abcdef01.%d", dir, i), pemChain([]*x509.Certificate{ca.cert}), 0o644)
			}
			for i, data := range tt.crls {
				write(t, fmt.Sprintf("%s/abcdef01.r%d", dir, i), data, 0o644)
			}
			trust := trustIn(t, dir, testNow)
			for i, x := range []*X509{alice, bob, carol} {
				want := []string{tt.alice, tt.bob, tt.carol}[i]
				if got := id(trust.Verify(x)); got != want {
					t.Errorf("%s: %s, want %s", x.Identity(), got, want)
				}
			}
		})
	}
}

// Files under the hash of old OpenSSL (MD5), the new one and the distribution's
// own name: whichever there are count.
func TestOldAndNewHash(t *testing.T) {
	ca, next := newCA(t, "CA"), testNow.AddDate(0, 1, 0)
	alice := ca.user(t, "Alice", nil)
	newHash, oldHash := NameHash(ca.cert.RawSubject), oldNameHash(ca.cert.RawSubject)
	for _, tt := range []struct {
		certs []string
		crl   string
	}{
		{[]string{oldHash + ".0"}, oldHash}, {[]string{newHash + ".0"}, newHash}, {[]string{oldHash + ".0", newHash + ".0"}, newHash},
		{[]string{oldHash + ".0", newHash + ".0"}, oldHash}, {[]string{"test-ca.pem", newHash + ".0", oldHash + ".0"}, "test-ca"},
	} {
		dir := t.TempDir()
		for _, name := range tt.certs {
			write(t, filepath.Join(dir, name), pemChain([]*x509.Certificate{ca.cert}), 0o644)
		}
		trust := trustIn(t, dir, testNow)
		if err := trust.Verify(alice); err != nil || trust.Size() != 1 {
			t.Errorf("%v: %d authorities, %v", tt.certs, trust.Size(), err)
		}
		if f := checkHash(trust.sorted()[0]); f != nil {
			t.Errorf("%v: %v", tt.certs, f)
		}
		write(t, filepath.Join(dir, tt.crl+".r0"), crlOf(t, ca, next, alice.chain[0].SerialNumber), 0o644)
		if got := id(trust.Verify(alice)); got != "x509.revoked" {
			t.Errorf("%v with %s.r0: %s", tt.certs, tt.crl, got)
		}
	}
}

// Policies and lists of the authorities above a subordinate one count too.
func TestSubordinateCA(t *testing.T) {
	root, next := newCA(t, "Root"), testNow.AddDate(0, 1, 0)
	key := newKey(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(77), Subject: testName("Sub"), NotBefore: testNow.AddDate(-1, 0, 0), NotAfter: testNow.AddDate(5, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign}
	sub := &testCA{sign(t, template, root.cert, key.Public(), root.key), key}
	alice := sub.user(t, "Alice", nil)
	for want, crl := range map[string][]byte{"<nil>": crlOf(t, root, next), "x509.revoked": crlOf(t, root, next, big.NewInt(77)), "trust.crl-expired": crlOf(t, root, testNow.Add(-time.Hour))} {
		dir := certDir(t, root, next)
		write(t, filepath.Join(dir, NameHash(root.cert.RawSubject)+".r0"), crl, 0o644)
		write(t, filepath.Join(dir, NameHash(sub.cert.RawSubject)+".0"), pemChain([]*x509.Certificate{sub.cert}), 0o644)
		if got := id(trustIn(t, dir, testNow).Verify(alice)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// The IGTF's namespaces: what they permit, deny, and how they are misspelt.
func TestNamespaces(t *testing.T) {
	const ca, me = "/DC=org/CN=CA", "/DC=org/CN=Alice"
	for _, tt := range []struct {
		text, want string
	}{
		{"#NAMESPACES-VERSION: 1.0\n# c\nTO Issuer \"/DC=org/CN=CA\" \\\n  PERMIT Subject \"/DC=org/.*\"\n", "yes"},
		{`to issuer self permit subject "/dc=ORG/cn=alice"`, "yes"},
		{`TO Issuer SELF PERMIT Subject "/DC=org/CN=Al"`, "no"}, // the whole name
		{`TO Issuer SELF PERMIT Subject "/DC=org/CN=(Bob|Alice)"  # both`, "yes"},
		{"TO Issuer SELF PERMIT Subject \"/DC=org/.*\"\nTO Issuer SELF DENY Subject \".*/CN=Alice\"\n", "no"},
		{"TO Issuer SELF DENY Subject \".*Bob\"\n", "no"},
		{`TO Issuer "/DC=org/CN=Other" PERMIT Subject ".*"`, "silent"},
		{"", "silent"},
		{"#NAMESPACES-VERSION: 2.0\n", `f:1: version "2.0"`},
		{"\nTO Issuer SELF ALLOW Subject \"x\"", "f:2: want: TO Issuer"},
		{`TO Issuer me PERMIT Subject "x"`, "f:1: the issuer is a DN in quotes"},
		{`TO Issuer SELF PERMIT Subject "x`, "f:1: a quote is not closed"},
		{`TO Issuer SELF PERMIT Subject "("`, "f:1: the pattern"},
		{"TO Issuer SELF \\\n\nx", "f:1: want: TO Issuer"},
		{`TO Issuer SELF \`, "f:1: the last line"},
		{strings.Repeat("TO Issuer SELF PERMIT Subject \"/DC=org/O=x/.*\"\n", 5000) + `TO Issuer SELF PERMIT Subject "/DC=org/.{1,100}"`, "yes"},
		{strings.Repeat("TO Issuer SELF PERMIT Subject \"((.{1000}))\"\n", 16000), "f:100: the pattern"},
		{`TO Issuer SELF PERMIT Subject "` + strings.Repeat(".{1000}", 3000) + `"`, "f:1: the pattern"},
	} {
		n, err := parseNamespaces("f", []byte(tt.text))
		got := map[bool]string{true: "yes", false: "no"}[n.allows(ca, me)]
		switch {
		case err != nil:
			got = err.Error()
		case !n.names(ca):
			got = "silent"
		}
		if !strings.HasPrefix(got, tt.want) {
			t.Errorf("%.200q: %.200s, want %s", tt.text, got, tt.want)
		}
	}
}

// Both files bind.
func TestNamespacesBesidePolicy(t *testing.T) {
	ca, next := newCA(t, "CA"), testNow.AddDate(0, 1, 0)
	alice := ca.user(t, "Alice", nil)
	dir := certDir(t, ca, next)
	base := filepath.Join(dir, NameHash(ca.cert.RawSubject))
	for text, want := range map[string]string{
		`TO Issuer SELF PERMIT Subject "/DC=org/.*"`:               "<nil>",
		`TO Issuer SELF PERMIT Subject "/DC=net/.*"`:               "trust.policy",
		`TO Issuer "/DC=org/CN=Other" PERMIT Subject "/DC=net/.*"`: "<nil>",
		`TO Issuer`: "trust.namespaces-malformed",
	} {
		write(t, base+".namespaces", []byte(text), 0o644)
		if got := id(trustIn(t, dir, testNow).Verify(alice)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	write(t, base+".namespaces", []byte(`TO Issuer SELF PERMIT Subject ".*"`), 0o644)
	policy, err := os.ReadFile(base + ".signing_policy")
	if err != nil {
		t.Fatal(err)
	}
	write(t, base+".signing_policy", bytes.ReplaceAll(policy, []byte("DC=org/*"), []byte("DC=net/*")), 0o644)
	if got := id(trustIn(t, dir, testNow).Verify(alice)); got != "trust.policy" {
		t.Errorf("a signing policy that forbids beside namespaces that permit: %s", got)
	}
}

func FuzzNamespaces(f *testing.F) {
	f.Add("#NAMESPACES-VERSION: 1.0\nTO Issuer \"/DC=org/CN=CA\" \\\n  PERMIT Subject \"/DC=org/.*\"\nTO Issuer SELF DENY Subject \"\\\"\"", "/DC=org/CN=x")
	f.Fuzz(func(_ *testing.T, text, dn string) {
		if len(text) > 1<<12 || len(dn) > 200 {
			return
		}
		if n, err := parseNamespaces("f", []byte(text)); err == nil {
			n.allows("/DC=org/CN=CA", dn)
		}
	})
}
