// Package testbed tells tests about the real servers that the scripts in its
// sub-directories start.
package testbed

import (
	"bufio"
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Dir is where the scripts keep their state: $GRID_TESTBED_DIR, or
// /tmp/grid-testbed. Where that is another user's, whose keys the servers'
// clients need, it is a directory that is not there.
func Dir() string {
	dir := cmp.Or(os.Getenv("GRID_TESTBED_DIR"), "/tmp/grid-testbed")
	if me := os.Geteuid(); me != 0 {
		if st, err := os.Stat(dir); err == nil && st.Sys().(*syscall.Stat_t).Uid != uint32(me) {
			return dir + ".of-another-user"
		}
	}
	return dir
}

// Env reads the KEY=VALUE file that the named testbed ("arc", "bdii") wrote
// when it came up. When there is none the test is skipped, or fails if
// GRID_TESTBED=require.
func Env(t testing.TB, name string) map[string]string {
	t.Helper()
	file := filepath.Join(Dir(), name, "env")
	f, err := os.Open(file)
	if err != nil {
		if os.Getenv("GRID_TESTBED") == "require" {
			t.Fatalf("testbed %s is not up: %v", name, err)
		}
		t.Skipf("testbed %s is not up (start it with testdata/testbed/%s/up.sh)", name, name)
	}
	defer f.Close()
	env := map[string]string{}
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if key, value, ok := strings.Cut(sc.Text(), "="); ok {
			env[key] = strings.Trim(value, `"`)
		}
	}
	return env
}

// ARC is what up.sh of the ARC testbed wrote.
type ARC struct {
	REST10, REST11 []string // base URLs of the CEs of ARC 6.17 and of ARC 7
	LDAP           []string // ldap:// URLs of all CEs, in the same order
	CADir          string   // CA directory, hashed
	CACert, CAKey  string   // the CA itself, for tests that make their own certificates
	Users          string   // directory with alice, bob and mallory
	Issuer         *Issuer
	Break          string // the CE for tests that freeze, kill and fill one, which start it
	Chroot         string // Debian 13 tree with ARC 7's clients; "" without
}

// NeedARC describes the ARC testbed, or skips as Env does.
func NeedARC(t testing.TB) *ARC {
	t.Helper()
	env := Env(t, "arc")
	issuer, err := OpenIssuer(env["GRID_ARC_ISSUER_DIR"], env["GRID_ARC_ISSUER"])
	if err != nil {
		t.Fatal(err)
	}
	return &ARC{
		REST10: strings.Fields(env["GRID_ARC_REST10"]), REST11: strings.Fields(env["GRID_ARC_REST11"]),
		LDAP: strings.Fields(env["GRID_ARC_LDAP"]), CADir: env["X509_CERT_DIR"],
		CACert: env["GRID_ARC_CA_CERT"], CAKey: env["GRID_ARC_CA_KEY"],
		Users: env["GRID_ARC_USERS"], Issuer: issuer, Break: env["GRID_ARC_BREAK"], Chroot: env["GRID_ARC_CHROOT"],
	}
}

// All lists every CE, the older ones first.
func (a *ARC) All() []string { return append(append([]string(nil), a.REST10...), a.REST11...) }

// Versions are a CE of each version of ARC that is there.
func (a *ARC) Versions() []string {
	urls := []string{a.REST10[0]}
	if len(a.REST11) > 0 {
		urls = append(urls, a.REST11[0])
	}
	return urls
}

// Proxy is the path of a user's proxy.
func (a *ARC) Proxy(user string) string { return filepath.Join(a.Users, user, "proxy.pem") }
