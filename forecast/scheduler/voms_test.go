package scheduler

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/credential/voms"
	"gridbroker/testdata/testbed"
)

// claimed is a person who shows a proxy with attribute certificates, as the door sees him.
func (f *front) claimed(x *credential.X509, ders ...[]byte) Person {
	f.t.Helper()
	var acs []*voms.AC
	for _, der := range ders {
		acs = append(acs, &voms.AC{Raw: der})
	}
	r := httptest.NewRequest("GET", "/", nil)
	r.TLS = &tls.ConnectionState{PeerCertificates: f.proxy(x, credential.ProxyOptions{Lifetime: time.Hour, ACs: acs}).Chain()}
	p, err := f.api.Door.Who(r)
	if err != nil {
		f.t.Fatal(err)
	}
	return p
}

// TestAttributesAtTheDoor: of the VOMS attributes that somebody shows those count that a server of that very VO gave to him,
// for now, for this host, within bounds; of others the door tells why they do not.
func TestAttributesAtTheDoor(t *testing.T) {
	f := newFront(t, func(_ *Config, a *API) { a.Door.VOMSDir, a.Door.Hosts = t.TempDir(), []string{"scheduler.example.org"} })
	alice, bob := f.user(f.ca, "Alice"), f.user(f.ca, "Bob")
	ours, theirs, unlisted := f.ca.Issue("voms.a.example", nil), f.ca.Issue("voms.b.example", nil), f.ca.Issue("voms.c.example", nil)
	forged := testbed.NewCA(t, "Test CA", f.now, nil).Issue("voms.a.example", nil)
	for file, server := range map[string]string{"a/voms.a.example.lsc": "voms.a.example", "b/voms.b.example.lsc": "voms.b.example"} {
		testbed.WriteFile(t, filepath.Join(f.api.Door.VOMSDir, file), fmt.Appendf(nil, "/DC=org/CN=%s\n/DC=org/CN=Test CA\n", server), 0o644)
	}
	good := testbed.AC{Holder: alice.Chain()[0], Issuer: ours.Cert, Key: ours.Key, VO: "a", Host: "voms.a.example:15000", FQANs: []string{"/a/Role=NULL", "/a/g/Role=production"},
		From: f.now.Add(-time.Hour), To: f.now.Add(time.Hour), Chain: []*x509.Certificate{ours.Cert}}
	by := func(a *testbed.AC, id testbed.Identity) {
		a.Issuer, a.Key, a.Chain = id.Cert, id.Key, []*x509.Certificate{id.Cert}
	}
	many := func(n int, text string) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprint("/a/", i, text))
		}
		return list
	}
	for _, c := range []struct {
		name   string
		change func(*testbed.AC)
		doubt  string // "": believed
	}{
		{"good", func(*testbed.AC) {}, ""},
		{"for this host", func(a *testbed.AC) { a.Targets = []string{"ce.example.org", "scheduler.example.org"} }, ""},
		{"for another host", func(a *testbed.AC) { a.Targets = []string{"ce.example.org"} }, "meant for"},
		{"expired", func(a *testbed.AC) { a.To = f.now.Add(-time.Minute) }, "expired at"},
		{"not yet valid", func(a *testbed.AC) { a.From = f.now.Add(time.Minute) }, "not valid before"},
		{"of another holder", func(a *testbed.AC) { a.Holder = bob.Chain()[0] }, "given to"},
		{"a server nobody lists", func(a *testbed.AC) { by(a, unlisted) }, "does not list"},
		{"another VO's server", func(a *testbed.AC) { by(a, theirs) }, "does not list"},
		{"another VO's server, which names itself", func(a *testbed.AC) { by(a, theirs); a.Host = "voms.b.example:15000" }, "there is no"},
		{"another VO's groups", func(a *testbed.AC) { by(a, theirs); a.VO, a.Host = "b", "voms.b.example:15000" }, `"/a", which is not of that VO`},
		{"another VO's group among its own", func(a *testbed.AC) {
			by(a, theirs)
			a.VO, a.Host, a.FQANs = "b", "voms.b.example:15000", []string{"/b", "/ab", "/b/x/../a"}
		}, `"/ab", which is not of that VO`},
		{"a server of the same name of another authority", func(a *testbed.AC) { by(a, forged) }, "not trusted"},
		{"signed by another key", func(a *testbed.AC) { a.Key = theirs.Key }, "not signed by"},
		{"without a server's certificate", func(a *testbed.AC) { a.Chain = nil }, "carry no certificate"},
		{"critical extension", func(a *testbed.AC) { a.Critical = asn1.ObjectIdentifier{1, 2, 3} }, "critical extension 1.2.3"},
		{"SHA-1", func(a *testbed.AC) { a.SHA1 = true }, "not accepted"},
		{"a VO that is a path", func(a *testbed.AC) { a.VO = "../a" }, "cannot be a file name"},
		{"a host that is a path", func(a *testbed.AC) { a.Host = "../a/voms.a.example:1" }, "cannot be a file name"},
		{"control characters", func(a *testbed.AC) { a.FQANs = []string{"/a", "/a/x\x01/a/admin"} }, "control characters"},
		{"line breaks", func(a *testbed.AC) { a.FQANs = []string{"/a/x\n/a/admin"} }, "control characters"},
		{"no UTF-8", func(a *testbed.AC) { a.FQANs = []string{"/a/\xff"} }, "control characters"},
		{"nothing", func(a *testbed.AC) { a.FQANs = []string{""} }, `"", which is not of that VO`},
		{"a long one", func(a *testbed.AC) { a.FQANs = []string{"/a/" + strings.Repeat("x", 5000)} }, "1024 bytes"},
		{"thousands", func(a *testbed.AC) { a.FQANs = many(5000, "") }, "more than 1000 attributes"},
		{"many that are long", func(a *testbed.AC) { a.FQANs = many(200, strings.Repeat("x", 200)) }, "16384 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := good
			c.change(&spec)
			p := f.claimed(alice, spec.DER(t))
			if p.Subject != alice.Identity() {
				t.Errorf("he is %q", p.Subject)
			}
			if c.doubt == "" && (p.VO != "a" || fmt.Sprint(p.FQANs) != "[/a /a/g/Role=production]" || p.Doubt != "") {
				t.Errorf("%+v", p)
			}
			if c.doubt != "" && (p.VO != "" || p.FQANs != nil || !strings.Contains(p.Doubt, c.doubt)) {
				t.Errorf("%.200s", fmt.Sprintf("%+v", p))
			}
			got, err := f.s.Submit(t.Context(), p, []Submission{{Key: c.name, JDL: `[ Executable = "/bin/true"; VirtualOrganisation = "a"; ]`}})
			if err != nil || (got[0].Error == "") != (c.doubt == "") || !strings.Contains(got[0].Error, c.doubt) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	bad := good
	bad.To = f.now.Add(-time.Minute)
	if p := f.claimed(alice, good.DER(t), bad.DER(t)); p.FQANs != nil || p.Doubt == "" {
		t.Errorf("a good one beside an expired one: %+v", p)
	}
	var lots [][]byte
	for range 30 {
		lots = append(lots, good.DER(t))
	}
	if p := f.claimed(alice, lots...); p.FQANs != nil || !strings.Contains(p.Doubt, "more than 20") {
		t.Errorf("30 attribute certificates: %+v", p)
	}
	if err := os.Chmod(f.api.Door.VOMSDir, 0o777); err != nil {
		t.Fatal(err)
	}
	if p := f.claimed(alice, good.DER(t)); p.FQANs != nil || !strings.Contains(p.Doubt, "everybody can write to") {
		t.Errorf("with a directory that everybody can write to: %+v", p)
	}
}
