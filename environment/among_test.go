package environment

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A job runs in one environment: two that the node defines are refused, and so
// is one beside a VEE- tag that it does not; software goes with any.
func TestOneEnvironment(t *testing.T) {
	dir := t.TempDir()
	for _, tag := range []string{"VEE-A", "VEE-B", "SOFT-1"} {
		text := fmt.Sprintf("tag = %q\nimage = \"oci:/i\"\ndigest = \"sha256:%s\"\n", tag, strings.Repeat("ab", 32))
		if err := os.WriteFile(filepath.Join(dir, tag+".toml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	node := &Node{Definitions: dir}
	for tags, want := range map[string]string{
		"VEE-A": "VEE-A", "ROOT-6": "", "ROOT-6 VEE-A": "VEE-A", "VEE-A VEE-A.cached ROOT-6": "VEE-A", "SOFT-1 ROOT-6": "SOFT-1",
		"VEE-C": "", "VEE-A VEE-B": "error", "VEE-A VEE-C": "error", "vee-c VEE-A": "error", "SOFT-1 VEE-C": "error", "VEE-A SOFT-1": "error",
	} {
		d, err := node.Among(strings.Fields(tags))
		got := ""
		if err != nil {
			got = "error"
		} else if d != nil {
			got = d.Tag
		}
		if got != want {
			t.Errorf("%s: %q %v, want %q", tags, got, err, want)
		}
	}
}
