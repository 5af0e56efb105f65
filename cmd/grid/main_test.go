package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// programDir is where the programs are built; TestMain makes and removes it.
var programDir string

// build builds grid and what it starts, once for all tests.
var build = sync.OnceValue(func() error {
	out, err := exec.Command("go", "build", "-o", programDir+"/", "gridbroker/cmd/grid", "gridbroker/cmd/grid-launch").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
})

func TestMain(m *testing.M) {
	var err error
	if programDir, err = os.MkdirTemp("", "grid-programs-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(programDir)
	os.Exit(code)
}

// program is the path of the grid that was built.
func program(t *testing.T) string {
	t.Helper()
	if err := build(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(programDir, "grid")
}
