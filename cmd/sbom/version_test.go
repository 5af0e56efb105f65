package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestPackagesAreOrdered: whoever has a package can install any that was made of a later commit, without being told that he goes back:
// two of one day, a release after its candidate, what follows a tag.
func TestPackagesAreOrdered(t *testing.T) {
	if _, err := exec.LookPath("dpkg"); err != nil {
		t.Skip("needs dpkg")
	}
	before := ""
	for _, commit := range [][2]string{{"fe564cc9", "1764321600"}, {"06e3d5c4", "1764321660"}, {"06e3d5c4-dirty", "1764321660"}, {"0a00000", "1764400000"},
		{"v0.1.0-rc.1", "1764400001"}, {"v0.1.0-rc.1-3-g1234567", "1764400002"}, {"v0.1.0-rc.2", "1764400003"}, {"v0.1.0", "1764400004"}, {"v0.1.0-2-gabcdef0", "1764400005"},
		{"v0.1.0-2-gabcdef0-dirty", "1764400005"}, {"v0.1.0-10-gabcdef0", "1764400006"}, {"v0.1.1", "1764400007"}} {
		out, err := exec.Command("../../testdata/release/version.sh", commit[0], commit[1]).CombinedOutput()
		version := strings.TrimSpace(string(out))
		if err != nil || strings.Contains(version, "-") { // an .rpm's version has none
			t.Fatalf("%v: %v, %s", commit, err, out)
		}
		if before != "" && exec.Command("dpkg", "--compare-versions", before, "lt", version).Run() != nil {
			t.Errorf("%s does not come after %s", version, before)
		}
		before = version
	}
}
