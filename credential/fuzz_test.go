package credential

import (
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"testing"
	"time"

	"gridbroker/durable"
)

func FuzzPEM(f *testing.F) {
	ca := newCA(f, "CA")
	user := ca.user(f, "Alice", nil)
	text, err := user.pem()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"))
	trust := &Trust{now: func() time.Time { return testNow }, grid: trustIn(f, certDir(f, ca, testNow.AddDate(0, 1, 0)), testNow).grid}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		x, err := ParseX509("fuzz", data)
		if err != nil {
			if _, ok := err.(*Finding); !ok {
				t.Errorf("%T", err)
			}
			return
		}
		_ = trust.Verify(x)
		_, _, _ = x.FQANs(), x.Identity(), x.check(testNow)
	})
}

func FuzzSigningPolicy(f *testing.F) {
	f.Add("access_id_CA X509 '/CN=a'\npos_rights globus CA:sign\ncond_subjects globus '\"/C=x/*\" \"/C=y*\"'\n", "/C=x/CN=me")
	f.Add("# c\naccess_id_CA X509 /CN=a\ncond_subjects globus /C=[x?*", "/C=[x")
	f.Fuzz(func(t *testing.T, text, dn string) {
		if len(text) > 1<<12 || len(dn) > 200 {
			return
		}
		if p, err := parseSigningPolicy("f", []byte(text)); err == nil {
			p.allows("/CN=a", dn)
		}
	})
}

func FuzzCRL(f *testing.F) {
	data, err := durable.ReadFile(trustIn(f, certDir(f, newCA(f, "CA"), testNow), testNow).sorted()[0].bases[0]+".r0", 1<<20)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	serial := newCA(f, "x").cert.SerialNumber
	f.Fuzz(func(_ *testing.T, data []byte) {
		if c, err := parseCRL(data); err == nil {
			_, _, _ = c.find(serial)
		}
	})
}

func FuzzToken(f *testing.F) {
	f.Add(jwt(`{"aud":["a","b"],"scope":"x y","exp":1.5e9,"wlcg.groups":["/g"]}`))
	f.Add("opaque==")
	f.Fuzz(func(t *testing.T, text string) {
		tok, err := ParseToken("fuzz", text)
		if err != nil {
			if len(text) > 30 && len(err.Error()) > 400 {
				t.Error("the error is as long as if it held the token")
			}
			return
		}
		_, _, _ = tok.For("https://ce"), tok.check(testNow), tok.Fits("https://ce", "x")
	})
}

// A request for a delegation, as a CE or a scheduler sends it: it is refused, or what is signed for it is a proxy.
func FuzzRequest(f *testing.F) {
	key, err := generateKey("ecdsa")
	if err != nil {
		f.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "x"}}, key)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
	f.Add(der)
	alice := newCA(f, "CA").user(f, "Alice", nil)
	f.Fuzz(func(t *testing.T, data []byte) {
		req, err := parseRequest(data)
		if err != nil {
			return
		}
		c, err := alice.issue(req.PublicKey, issueOptions{now: testNow, lifetime: time.Hour, pathLen: -1})
		if err == nil && verifyProxy(c, alice.chain[0], testNow) != nil {
			t.Errorf("%v", verifyProxy(c, alice.chain[0], testNow))
		}
	})
}
