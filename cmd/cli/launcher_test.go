package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"
)

// launcher builds grid-launch into bin of the script's directory and puts that first in PATH.
func launcher(ts *testscript.TestScript, _ bool, _ []string) {
	bin := ts.MkAbs("bin")
	build := exec.Command("go", "build", "-o", filepath.Join(bin, "grid-launch"), "gridbroker/cmd/grid-launch")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		ts.Fatalf("%v\n%s", err, out)
	}
	ts.Setenv("PATH", bin+string(os.PathListSeparator)+ts.Getenv("PATH"))
}
