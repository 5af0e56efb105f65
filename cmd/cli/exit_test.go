package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gridbroker/cmd/cli"
)

// exitTable is the table as the documents have it.
func exitTable() string {
	var out strings.Builder
	out.WriteString("| code | meaning |\n|---|---|\n")
	for _, c := range cli.ExitCodes() {
		fmt.Fprintf(&out, "| %d | %s |\n", c.Code, c.Means)
	}
	return out.String()
}

// TestExitCodesDocumented holds README, the configuration's page and every man page to the one table.
func TestExitCodesDocumented(t *testing.T) {
	for _, path := range []string{"../../README.md", "../../docs/configuration.md"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(text, []byte(exitTable())) {
			t.Errorf("%s has not this table:\n%s", path, exitTable())
		}
	}
	dir := t.TempDir()
	env := cli.OSEnv()
	env.Out, env.Err = &strings.Builder{}, &strings.Builder{}
	if code := cli.Main(t.Context(), env, []string{"man", dir}); code != 0 {
		t.Fatalf("man: exit code %d", code)
	}
	pages, err := filepath.Glob(dir + "/*.1")
	if err != nil || len(pages) < 60 {
		t.Fatalf("%d man pages: %v", len(pages), err)
	}
	for _, path := range pages {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{".SH EXIT STATUS\n", ".SH ENVIRONMENT\n", ".SH FILES\n", `\fB130\fP`, `\fBX509_USER_PROXY`} {
			if !bytes.Contains(text, []byte(want)) {
				t.Errorf("%s has no %q", filepath.Base(path), want)
			}
		}
	}
}
