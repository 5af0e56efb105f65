package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// launcher puts grid-launch and grid-deploy into bin of the script's directory and that first in PATH.
func launcher(ts *testscript.TestScript, _ bool, _ []string) {
	bin := ts.MkAbs("bin")
	if err := programs(bin, "grid-launch", "grid-deploy"); err != nil {
		ts.Fatalf("%v", err)
	}
	ts.Setenv("PATH", bin+string(os.PathListSeparator)+ts.Getenv("PATH"))
}

// workshop is where what many tests need is made, once: the programs, and a farm.
type workshop struct {
	dir           string
	built, farmed sync.Once
	err, farmErr  error
}

var shop workshop

// workshopTests runs the tests of the package, who have a workshop.
type workshopTests struct{ *testing.M }

// Run implements testscript.TestingM.
func (m workshopTests) Run() int {
	var err error
	if shop.dir, err = os.MkdirTemp("/tmp", "grid-workshop-"); err != nil { // nodes share /tmp
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(shop.dir)
	os.Chmod(shop.dir, 0o755)
	return m.M.Run()
}

// build builds grid, and grid-launch and grid-deploy as they run on nodes: without libraries.
func (w *workshop) build() {
	for program, cgo := range map[string]string{"grid": "", "grid-launch": "CGO_ENABLED=0", "grid-deploy": "CGO_ENABLED=0"} {
		cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", filepath.Join(w.dir, program), "gridbroker/cmd/"+program)
		if cgo != "" {
			cmd.Env = append(os.Environ(), cgo)
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			w.err = fmt.Errorf("%w\n%s", err, out)
			return
		}
	}
}

// programs copies programs into a directory, which is made. Another process does: one that is written in this one might
// be open still, in a child, when it is to run.
func programs(dir string, names ...string) error {
	shop.built.Do(shop.build)
	if shop.err != nil {
		return shop.err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	args := []string{}
	for _, name := range names {
		args = append(args, filepath.Join(shop.dir, name))
	}
	if out, err := exec.Command("cp", append(args, dir)...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}
