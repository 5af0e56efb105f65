package voms

import (
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

const vo, lscHeader = "edu.example.org", "/DC=org/CN=voms.example.org\n"

// The chain that attributes carry against what an LSC file may say.
func TestLSCChains(t *testing.T) {
	now := time.Now()
	root := testbed.NewCA(t, "Root", now, nil)
	sub := root.Sub("Sub")
	server := sub.Issue("voms.example.org", nil)
	holder := root.Issue("Alice", nil)
	two, three := lscHeader+"/DC=org/CN=Sub\n", lscHeader+"/DC=org/CN=Sub\n/DC=org/CN=Root\n"
	alone, withSub, withRoot := []*x509.Certificate{server.Cert}, []*x509.Certificate{server.Cert, sub.Cert}, []*x509.Certificate{server.Cert, sub.Cert, root.Cert}
	for _, tt := range []struct {
		name, lsc, want string
		chain           []*x509.Certificate
	}{
		{"server alone", two, "", alone},
		{"server alone, longer list", three, "voms.lsc-mismatch", alone},
		{"with subordinate", three, "", withSub},
		{"with subordinate, shorter list", two, "voms.lsc-mismatch", withSub},
		{"with root", three, "", withRoot},
		{"with root, root named twice", three + "/DC=org/CN=Root\n", "", withRoot},
		{"second chain", "/CN=old\n/CN=CA\n------ NEXT CHAIN ------\n" + two, "", alone},
		{"separator at the end", two + "------ NEXT CHAIN ------\n", "", alone},
		{"separator at the beginning", "------ NEXT CHAIN ------\n" + two, "", alone},
		{"Windows line ends and comments", "# by the VO\r\n" + strings.ReplaceAll(two, "\n", "\r\n"), "", alone},
		{"wrong order", "/DC=org/CN=Sub\n" + lscHeader, "voms.lsc-mismatch", alone},
		{"other issuer", lscHeader + "/DC=org/CN=Root\n", "voms.lsc-mismatch", alone},
		{"relative name", "CN=voms\n", "voms.lsc", alone},
		{"one name", lscHeader, "voms.lsc", alone},
		{"empty", "", "voms.lsc", alone},
		{"chain in the wrong order", three, "voms.issuer", []*x509.Certificate{sub.Cert, server.Cert}},
		{"no chain", two, "voms.no-certificate", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			testbed.WriteFile(t, filepath.Join(dir, vo, "voms.example.org.lsc"), []byte(tt.lsc), 0o644)
			ac := parsed(t, testbed.AC{Holder: holder.Cert, Issuer: server.Cert, Key: server.Key, VO: vo, Host: "voms.example.org:15000", From: now.Add(-time.Hour), To: now.Add(time.Hour), Chain: tt.chain})
			v := Verifier{Dir: dir, Now: now, Chain: func([]*x509.Certificate) error { return nil }}
			if got := code(v.Verify(ac, holder.Cert)); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// Attributes limited to a host, and names that would leave vomsdir.
func TestTargetsAndNames(t *testing.T) {
	now := time.Now()
	ca := testbed.NewCA(t, "CA", now, nil)
	server, holder := ca.Issue("voms.example.org", nil), ca.Issue("Alice", nil)
	dir := t.TempDir()
	testbed.WriteFile(t, filepath.Join(dir, vo, "voms.example.org.lsc"), []byte(lscHeader+"/DC=org/CN=CA\n"), 0o644)
	good := testbed.AC{Holder: holder.Cert, Issuer: server.Cert, Key: server.Key, VO: vo, Host: "voms.example.org:15000", From: now.Add(-time.Hour), To: now.Add(time.Hour),
		Chain: []*x509.Certificate{server.Cert}}
	for want, change := range map[string]func(*testbed.AC){
		"voms.fqan": func(a *testbed.AC) { a.FQANs = []string{"/" + vo, "/" + vo + "s"} },
		"":          func(a *testbed.AC) { a.Targets = []string{"ce.example.org"} }, "voms.target": func(a *testbed.AC) { a.Targets = []string{"else.example.org"} },
		"voms.lsc": func(a *testbed.AC) { a.VO = "../" + vo }, "voms.no-lsc": func(a *testbed.AC) { a.Host = "other.example.org:1" },
	} {
		spec := good
		change(&spec)
		v := Verifier{Dir: dir, Now: now, Hosts: []string{"ce.example.org"}, Chain: func([]*x509.Certificate) error { return nil }}
		err := v.Verify(parsed(t, spec), holder.Cert)
		if got := code(err); got != want {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, vo)); err != nil {
		t.Error(err)
	}
}

func parsed(t *testing.T, spec testbed.AC) *AC {
	t.Helper()
	ac, err := Parse(spec.DER(t))
	if err != nil {
		t.Fatal(err)
	}
	return ac
}

func code(err error) string {
	if e, ok := errors.AsType[*VerifyError](err); ok {
		return "voms." + e.Code
	}
	return ""
}
