package cli_test

import (
	"os"
	"os/exec"

	"github.com/rogpeppe/go-internal/testscript"
)

// launcher builds grid-launch and grid-deploy into bin of the script's directory and puts that first in PATH.
func launcher(ts *testscript.TestScript, _ bool, _ []string) {
	bin := ts.MkAbs("bin")
	build := exec.Command("go", "build", "-o", bin+"/", "gridbroker/cmd/grid-launch", "gridbroker/cmd/grid-deploy")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		ts.Fatalf("%v\n%s", err, out)
	}
	ts.Setenv("PATH", bin+string(os.PathListSeparator)+ts.Getenv("PATH"))
}
