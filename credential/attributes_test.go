package credential_test

import (
	"crypto/x509"
	"strings"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/credential/voms"
	"gridbroker/testdata/testbed"
)

// Who submits is told where his VOMS attributes end before the job may, or have ended, though the proxy goes on.
func TestAttributesOutlive(t *testing.T) {
	now := time.Now()
	ca := testbed.NewCA(t, "Test CA", now, nil)
	id, server := ca.Issue("Alice", nil), ca.Issue("voms.a.example", nil)
	alice, err := credential.ParseX509("Alice", append(testbed.PEM(id.Cert), testbed.KeyPEM(t, id.Key)...))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		ends, wall time.Duration
		says       string
	}{
		{2 * time.Hour, time.Hour, ""},
		{2 * time.Hour, 3 * time.Hour, "may end before the job"},
		{2 * time.Hour, 0, ""},
		{-time.Minute, time.Hour, "have run out"},
	} {
		ac := testbed.AC{Holder: id.Cert, Issuer: server.Cert, Key: server.Key, VO: "a", Host: "voms.a.example:15000", FQANs: []string{"/a"},
			From: now.Add(-time.Hour), To: now.Add(c.ends), Chain: []*x509.Certificate{server.Cert}}
		p, err := alice.NewProxy(credential.ProxyOptions{Lifetime: 10 * time.Hour, Key: "ecdsa", ACs: []*voms.AC{{Raw: ac.DER(t)}}})
		if err != nil {
			t.Fatal(err)
		}
		f := (&credential.Set{X509: p}).Outlives(now, 0, c.wall)
		if (f == nil) != (c.says == "") || f != nil && (!strings.Contains(f.What, c.says) || !strings.Contains(f.Mend, "--voms a")) {
			t.Errorf("attributes for %v, a job of %v: %+v", c.ends, c.wall, f)
		}
	}
}
