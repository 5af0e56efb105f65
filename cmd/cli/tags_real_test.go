package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

const (
	tagsPort = "24181" // below the ephemeral range, beside the other BDIIs of the testbed
	tagsBDII = "ldap://127.0.0.1:" + tagsPort
)

// Tags go through a real BDII, in both schemas, by the plugin and the provider that we print: ldapsearch reads them back
// and so does our own broker; a test that ran is seen as the state.
func TestTagsInARealBDII(t *testing.T) {
	t.Parallel()
	testbed.Env(t, "bdii") // its packages are here
	if testing.Short() || os.Getuid() != 0 {
		t.Skip("takes half a minute, as root")
	}
	f := newFarm(t)
	gip := f.bdii(t)
	f.write("home/.config/grid/grid.toml", fmt.Sprintf("sources = [%q]\n", tagsBDII))
	text, err := os.ReadFile(f.path("definitions/VEE-Debian11.toml"))
	if err != nil {
		t.Fatal(err)
	}
	f.write("definitions/VEE-Debian11.toml", string(text)+"license = 'DFSG'\ntest = ['/bin/sh', '-c', '. /etc/os-release; test $VERSION_ID = 11']\n")
	f.grid("tags", "add", "VEE-Debian11", "--store", "tags", "--node", "node.json")
	f.grid("tags", "add", "VO-cms-CMSSW_14", "--vo", "cms", "--store", "tags", "--node", "node.json")
	f.grid("tags", "validate", "VEE-Debian11", "--store", "tags", "--node", "node.json")

	before := search(t, "o=grid", "(objectClass=GlueSubCluster)", "GlueHostApplicationSoftwareRunTimeEnvironment")
	sub := first(t, search(t, "o=grid", "(objectClass=GlueSubCluster)", "dn"), "dn: ")
	f.install(t, filepath.Join(gip, "plugin", "tags"), f.grid("tags", "publish", "glue1", "--subcluster", sub, "--store", "tags", "--script"))
	manager := first(t, search(t, "o=glue", "(objectClass=GLUE2ComputingManager)", "dn"), "dn: ")
	id, rest, _ := strings.Cut(strings.TrimPrefix(manager, "GLUE2ManagerID="), ",GLUE2ServiceID=")
	service, base, _ := strings.Cut(rest, ",")
	f.install(t, filepath.Join(gip, "provider", "environments"),
		f.grid("tags", "publish", "glue2", "--manager", id, "--service", service, "--base", base, "--store", "tags", "--script"))

	tag := "(GLUE2ApplicationEnvironmentAppName=VEE-Debian11)"
	eventually(t, "both schemas", func() bool {
		one := search(t, sub, "(GlueHostApplicationSoftwareRunTimeEnvironment=VEE-Debian11)", "dn")
		return strings.Contains(one, "dn:") && strings.Contains(search(t, "o=glue", tag, "dn"), "dn:")
	})
	after := search(t, "o=grid", "(objectClass=GlueSubCluster)", "GlueHostApplicationSoftwareRunTimeEnvironment")
	if got, want := strings.Count(after, "\nGlueHost"), strings.Count(before, "\nGlueHost")+2; got != want {
		t.Errorf("GLUE 1.3 has %d tags, %d and ours were there", got, want)
	}
	entry := search(t, "o=glue", tag, "*")
	for _, want := range []string{"State: installedverified", "License: DFSG", "OtherInfo: digest=sha256:", "ComputingManagerForeignKey: " + id} {
		if !strings.Contains(entry, want) {
			t.Errorf("GLUE 2.0 lacks %q:\n%s", want, entry)
		}
	}
	for name, want := range map[string]bool{"VEE-Debian11": true, "VO-cms-CMSSW_14": true, "VEE-None": false} {
		where := fmt.Sprintf("member(%q, GlueHostApplicationSoftwareRunTimeEnvironment)", name)
		out := f.grid("resources", "--no-cache", "--deadline", "60s", "--where", where, "--jq", ".resources | length")
		if got := strings.TrimSpace(out) != "0"; got != want {
			t.Errorf("our broker finds resources with %s: %s", name, out)
		}
	}
	// Taken back, they are gone in the next cycle: the plugin asks for them anew.
	f.grid("tags", "remove", "VEE-Debian11", "--store", "tags")
	eventually(t, "gone", func() bool { return !strings.Contains(search(t, "o=glue", tag, "dn"), "dn:") })
}

// bdii starts a BDII of a small site of its own, and gives its folder of plugins and providers.
func (f *farm) bdii(t *testing.T) string {
	bed := f.path("bed")
	os.Mkdir(bed, 0o755)
	script := func(name string, args ...string) ([]byte, error) {
		cmd := exec.Command(filepath.Join("..", "..", "testdata", "testbed", "bdii", name), append([]string{"--name", "tags", "--port", tagsPort}, args...)...)
		cmd.Env = append(os.Environ(), "GRID_TESTBED_DIR="+bed)
		return cmd.CombinedOutput()
	}
	t.Cleanup(func() { script("down.sh") })
	if out, err := script("up.sh", "--sites", "1", "--conf", "site", "--breathe", "3"); err != nil {
		t.Skipf("no BDII: %v %s", err, out)
	}
	return filepath.Join(bed, "tags", "gip")
}

// install puts a script where the BDII runs it, by a rename, with what the user who runs it may read.
func (f *farm) install(t *testing.T, file, script string) {
	err := os.WriteFile(f.path("script.new"), []byte(script), 0o755)
	if err == nil {
		err = os.Rename(f.path("script.new"), file)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func search(t *testing.T, base, filter string, attrs ...string) string {
	args := append([]string{"-x", "-LLL", "-o", "ldif-wrap=no", "-l", "20", "-H", tagsBDII, "-b", base, filter}, attrs...)
	out, _ := exec.Command("ldapsearch", args...).CombinedOutput() // no such object yet: nothing found
	return string(out)
}

func first(t *testing.T, ldif, prefix string) string {
	for line := range strings.Lines(ldif) {
		if v, ok := strings.CutPrefix(line, prefix); ok {
			return strings.TrimSpace(v)
		}
	}
	t.Fatalf("no %q in %s", prefix, ldif)
	return ""
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(time.Second) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within two minutes", what)
		}
	}
}
