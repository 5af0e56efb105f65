package cli_test

import (
	"os"
	"os/exec"

	"github.com/rogpeppe/go-internal/testscript"
)

// launcher builds grid-launch and grid-deploy into bin of the script's directory and puts that first in PATH.
func launcher(ts *testscript.TestScript, _ bool, _ []string) {
	bin := ts.MkAbs("bin")
	if out, err := nodePrograms(bin).CombinedOutput(); err != nil {
		ts.Fatalf("%v\n%s", err, out)
	}
	ts.Setenv("PATH", bin+string(os.PathListSeparator)+ts.Getenv("PATH"))
}

// nodePrograms builds grid-launch and grid-deploy into a directory, as they run on nodes: without libraries.
func nodePrograms(dir string) *exec.Cmd {
	build := exec.Command("go", "build", "-o", dir+"/", "gridbroker/cmd/grid-launch", "gridbroker/cmd/grid-deploy")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	return build
}
