package testbed_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTwoTestbeds: a second testbed on a machine leaves the first one's CA where both are trusted.
func TestTwoTestbeds(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("no openssl")
	}
	if _, err := os.Stat("arc/pki.sh"); err != nil { // with another one the test is run again
		t.Fatal(err)
	}
	root := t.TempDir()
	trusted := filepath.Join(root, "etc/grid-security/certificates")
	authorities := func() map[string]string {
		cmd := exec.Command("bash", "-ec", `. arc/common.sh; . arc/pki.sh; make_ca; trust_issuer "$1"`, "-", root)
		cmd.Env = append(os.Environ(), "GRID_TESTBED_DIR="+t.TempDir())
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		files, err := filepath.Glob(filepath.Join(trusted, "*"))
		if err != nil {
			t.Fatal(err)
		}
		there := map[string]string{}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			there[name] = string(text)
		}
		return there
	}
	first := authorities()
	both := authorities()
	for name, text := range first {
		if both[name] != text {
			t.Errorf("%s is another one", filepath.Base(name))
		}
	}
	if len(first) == 0 || len(both) != 2*len(first) {
		t.Errorf("of one testbed there are %d files, of two %d", len(first), len(both))
	}
}
