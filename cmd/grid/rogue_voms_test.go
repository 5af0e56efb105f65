package main_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/testdata/testbed"
)

// vomsLab is a VO's server that means ill, and a member of the VO.
type vomsLab struct {
	*victim
	ca     *testbed.CA
	member testbed.Identity
	server tls.Certificate
	addr   string
}

const vomsVO = "vo.example.org"

func newVOMSLab(t *testing.T, answer func(*vomsLab, http.ResponseWriter)) *vomsLab {
	ca := testbed.NewCA(t, "Lab CA", time.Now(), nil)
	lab := &vomsLab{ca: ca, member: ca.Issue("Alice", nil), server: ca.Server(nil)}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(lab, w) }))
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{lab.server}, ClientAuth: tls.RequireAnyClientCert}
	t.Cleanup(srv.Close)
	lab.addr = srv.Listener.Addr().String()
	dir := t.TempDir()
	host, port, _ := net.SplitHostPort(lab.addr)
	hash := credential.NameHash(ca.Cert.RawSubject)
	ca.Install(filepath.Join(dir, "certificates"), hash, "/DC=org/CN=Lab CA")
	testbed.WriteFile(t, filepath.Join(dir, "vomses"), fmt.Appendf(nil, "%q %q %q %q %q\n", vomsVO, host, port, "/DC=org/CN=localhost", vomsVO), 0o644)
	for _, vo := range []string{vomsVO, "second.example.org"} {
		testbed.WriteFile(t, filepath.Join(dir, "vomsdir", vo, host+".lsc"), []byte("/DC=org/CN=localhost\n/DC=org/CN=Lab CA\n"), 0o644)
	}
	testbed.WriteFile(t, filepath.Join(dir, "cert.pem"), testbed.PEM(lab.member.Cert), 0o644)
	testbed.WriteFile(t, filepath.Join(dir, "key.pem"), testbed.KeyPEM(t, lab.member.Key), 0o600)
	lab.victim = newVictim(t, "X509_CERT_DIR="+filepath.Join(dir, "certificates"), "X509_VOMSES="+filepath.Join(dir, "vomses"), "X509_VOMS_DIR="+filepath.Join(dir, "vomsdir"),
		"X509_USER_CERT="+filepath.Join(dir, "cert.pem"), "X509_USER_KEY="+filepath.Join(dir, "key.pem"), "X509_USER_PROXY="+filepath.Join(dir, "proxy"))
	srv.StartTLS()
	return lab
}

// attributes are what an attribute certificate says, where it is not the truth.
type attributes struct {
	holder *x509.Certificate
	vo     string
	end    time.Time
	certs  []*x509.Certificate
	key    crypto.Signer
	fqan   string
}

func oid(text ...int) []byte {
	der, _ := asn1.Marshal(asn1.ObjectIdentifier(text))
	return der
}

// certificate is an attribute certificate in DER, right where a says nothing.
func (lab *vomsLab) certificate(a attributes) []byte {
	lab.t.Helper()
	if a.holder == nil {
		a.holder = lab.member.Cert
	}
	if a.vo == "" {
		a.vo = vomsVO
	}
	if a.end.IsZero() {
		a.end = time.Now().Add(time.Hour)
	}
	if a.certs == nil {
		a.certs = []*x509.Certificate{lab.server.Leaf}
	}
	if a.key == nil {
		a.key = lab.server.PrivateKey.(crypto.Signer)
	}
	integer := func(n *big.Int) []byte { der, _ := asn1.Marshal(n); return der }
	name := func(raw []byte) []byte { return tlv(0x30, tlv(0xa4, raw)) }
	alg := tlv(0x30, oid(1, 2, 840, 10045, 4, 3, 2))
	stamp := func(at time.Time) []byte { return tlv(0x18, []byte(at.UTC().Format("20060102150405Z"))) }
	var chain [][]byte
	for _, c := range a.certs {
		chain = append(chain, c.Raw)
	}
	syntax := tlv(0x30, tlv(0xa0, tlv(0x86, []byte(a.vo+"://"+lab.addr))), tlv(0x30, tlv(0x04, []byte("/"+a.vo+a.fqan))))
	info := tlv(0x30, integer(big.NewInt(1)), tlv(0x30, tlv(0xa0, name(a.holder.RawIssuer), integer(a.holder.SerialNumber))), tlv(0xa0, name(a.certs[0].RawSubject)), alg,
		integer(big.NewInt(7)), tlv(0x30, stamp(time.Now().Add(-time.Hour)), stamp(a.end)),
		tlv(0x30, tlv(0x30, oid(1, 3, 6, 1, 4, 1, 8005, 100, 100, 4), tlv(0x31, syntax))),
		tlv(0x30, tlv(0x30, oid(1, 3, 6, 1, 4, 1, 8005, 100, 100, 10), tlv(0x04, minimal(tlv(0x30, tlv(0x30, chain...)))))))
	info = minimal(info)
	sum := sha256.Sum256(info)
	sig, err := ecdsa.SignASN1(rand.Reader, a.key.(*ecdsa.PrivateKey), sum[:])
	if err != nil {
		lab.t.Fatal(err)
	}
	return minimal(tlv(0x30, info, alg, tlv(0x03, []byte{0}, sig)))
}

// minimal writes BER's lengths as DER has them.
func minimal(ber []byte) []byte {
	var v asn1.RawValue
	rest, err := asn1.Unmarshal(ber, &v)
	if err == nil && len(rest) == 0 && v.Bytes != nil && ber[1] != 0x84 && !v.IsCompound {
		return ber
	}
	tag, body := ber[0], ber[2:]
	if ber[1] == 0x84 {
		body = ber[6:]
	} else if ber[1] > 0x80 {
		body = ber[2+ber[1]&0x7f:]
	}
	var out []byte
	switch {
	case tag&0x20 != 0:
		for len(body) > 0 {
			n := elementOf(body)
			out, body = append(out, minimal(body[:n])...), body[n:]
		}
	default:
		out = body
	}
	der, _ := asn1.Marshal(asn1.RawValue{Class: int(tag >> 6), Tag: int(tag & 0x1f), IsCompound: tag&0x20 != 0, Bytes: out})
	return der
}

// elementOf is the length of the first element.
func elementOf(b []byte) int {
	n := int(b[1])
	if n < 0x80 {
		return 2 + n
	}
	size := 0
	for _, c := range b[2 : 2+n&0x7f] {
		size = size<<8 | int(c)
	}
	return 2 + n&0x7f + size
}

func (lab *vomsLab) gives(w http.ResponseWriter, a attributes) {
	fmt.Fprintf(w, "<voms><ac>%s</ac></voms>", base64.StdEncoding.EncodeToString(lab.certificate(a)))
}

// giantKey is a chain whose middle has a key that takes hours to verify with.
func (lab *vomsLab) giantKey() attributes {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 1<<20))
	if err != nil {
		lab.t.Fatal(err)
	}
	n.SetBit(n.SetBit(n, 1<<20-1, 1), 0, 1)
	middle := lab.ca.Template("Middle")
	middle.IsCA, middle.KeyUsage = true, x509.KeyUsageCertSign
	cert := lab.ca.Sign(middle, lab.ca.Cert, &rsa.PublicKey{N: n, E: 1<<31 - 1}, lab.ca.Key)
	// A leaf that the middle is to have signed: its signature is a number.
	other := testbed.NewCA(lab.t, "Middle", time.Now(), nil)
	leaf := other.Issue("localhost", nil)
	raw := *leaf.Cert
	raw.Raw = rsaSigned(raw.RawTBSCertificate, 1<<17)
	return attributes{certs: []*x509.Certificate{&raw, cert}, key: leaf.Key}
}

// rsaSigned is a certificate with another signature: RSA's, of so many bytes.
func rsaSigned(tbs []byte, size int) []byte {
	ecdsaID, rsaID := minimal(tlv(0x30, oid(1, 2, 840, 10045, 4, 3, 2))), minimal(tlv(0x30, oid(1, 2, 840, 113549, 1, 1, 11), []byte{5, 0}))
	body := tbs[len(tbs)-contentOf(tbs):]
	body = []byte(strings.Replace(string(body), string(ecdsaID), string(rsaID), 1))
	signature := make([]byte, size+1)
	signature[2] = 3
	return minimal(tlv(0x30, minimal(tlv(0x30, body)), rsaID, tlv(0x03, signature)))
}

func contentOf(b []byte) int {
	var v asn1.RawValue
	_, _ = asn1.Unmarshal(b, &v)
	return len(v.Bytes)
}

// TestRogueVOMS: whatever a VO's server answers, it is named, costs no more than
// was said, and no proxy comes of what is not right.
func TestRogueVOMS(t *testing.T) {
	trap := testbed.Listen(t, func(net.Conn) { t.Error("a redirect was followed") })
	for name, c := range map[string]struct {
		answer func(*vomsLab, http.ResponseWriter)
		says   string
	}{
		"honest":                        {func(l *vomsLab, w http.ResponseWriter) { l.gives(w, attributes{}) }, ""},
		"another holder":                {func(l *vomsLab, w http.ResponseWriter) { l.gives(w, attributes{holder: l.ca.Issue("Bob", nil).Cert}) }, "given to the certificate"},
		"an old one":                    {func(l *vomsLab, w http.ResponseWriter) { l.gives(w, attributes{end: time.Now().Add(-time.Minute)}) }, "expired"},
		"another key":                   {func(l *vomsLab, w http.ResponseWriter) { l.gives(w, attributes{key: l.member.Key}) }, "not signed by"},
		"another VO":                    {func(l *vomsLab, w http.ResponseWriter) { l.gives(w, attributes{vo: "other.example.org"}) }, "other.example.org"},
		"another VO that it speaks for": {func(l *vomsLab, w http.ResponseWriter) { l.gives(w, attributes{vo: "second.example.org"}) }, "voms.another-vo"},
		"a VO that climbs":              {func(l *vomsLab, w http.ResponseWriter) { l.gives(w, attributes{vo: "../vomsdir/" + vomsVO}) }, "cannot be a file name"},
		"a stranger's authority": {func(l *vomsLab, w http.ResponseWriter) {
			fake := testbed.NewCA(l.t, "Lab CA", time.Now(), nil)
			leaf := fake.Issue("localhost", nil)
			l.gives(w, attributes{certs: []*x509.Certificate{leaf.Cert, fake.Cert}, key: leaf.Key})
		}, "not trusted"},
		"a giant key":  {func(l *vomsLab, w http.ResponseWriter) { l.gives(w, l.giantKey()) }, "a key of 1048576 bits"},
		"endless":      {func(_ *vomsLab, w http.ResponseWriter) { flood(w, "<voms><ac>AAAA", "AAAA") }, "VOMS server"},
		"endless tags": {func(_ *vomsLab, w http.ResponseWriter) { flood(w, "", "<voms>") }, "VOMS server"},
		"endless remarks": {func(_ *vomsLab, w http.ResponseWriter) {
			fmt.Fprint(w, "<voms>", strings.Repeat("<error><code>1</code><message>\u001b no&#10;</message></error>", 20_000), "</voms>")
		}, "VOMS server"},
		"giant remarks with what is right": {func(l *vomsLab, w http.ResponseWriter) {
			fmt.Fprintf(w, "<voms><ac>%s</ac>%s</voms>", base64.StdEncoding.EncodeToString(l.certificate(attributes{})), strings.Repeat("<warning><code>1</code><message>grid: all is well&#10;</message></warning>", 10_000))
		}, "VOMS server remarks"},
		"giant code": {func(_ *vomsLab, w http.ResponseWriter) {
			fmt.Fprintf(w, "<voms><error><code>%s</code><message>%[1]s</message></error></voms>", strings.Repeat("x", 400_000))
		}, "VOMS server"},
		"elsewhere": {func(_ *vomsLab, w http.ResponseWriter) {
			w.Header().Set("Location", "http://"+trap+"/generate-ac")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, "307"},
		"giant headers": {func(_ *vomsLab, w http.ResponseWriter) { w.Header().Set("X", strings.Repeat("x", 8<<20)) }, "VOMS server"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := newVOMSLab(t, c.answer)
			h := lab.grid(0, "auth", "proxy", "--voms", vomsVO)
			lab.bounded(h, c.says)
			fine := name == "honest" || strings.HasSuffix(name, "what is right")
			proxy := strings.TrimPrefix(lab.env[5], "X509_USER_PROXY=")
			if _, err := os.Stat(proxy); (err == nil) != fine || (h.code == 0) != fine {
				t.Errorf("exit code %d, proxy: %v\n%.500s", h.code, err, h.out)
			}
		})
	}
}

// flood answers without end.
func flood(w http.ResponseWriter, head, text string) {
	_, err := fmt.Fprint(w, head)
	for block := strings.Repeat(text, 4096); err == nil; {
		_, err = fmt.Fprint(w, block)
	}
}

// TestVOMSOfAnotherName: a server that is not the one that vomses names is told
// nothing, though an authority vouches for it.
func TestVOMSOfAnotherName(t *testing.T) {
	lab := newVOMSLab(t, func(l *vomsLab, w http.ResponseWriter) { l.t.Error("it was asked") })
	vomses := strings.TrimPrefix(lab.env[1], "X509_VOMSES=")
	text, err := os.ReadFile(vomses)
	if err != nil {
		t.Fatal(err)
	}
	testbed.WriteFile(t, vomses, []byte(strings.Replace(string(text), "CN=localhost", "CN=voms.example.org", 1)), 0o644)
	lab.bounded(lab.grid(0, "auth", "proxy", "--voms", vomsVO), "/DC=org/CN=voms.example.org")
}
