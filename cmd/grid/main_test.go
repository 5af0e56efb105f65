package main_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// programDir is where the programs are built; TestMain makes and removes it.
var programDir string

// build builds grid and what it starts, once for all tests, as they are released: to link what
// debuggers need takes half as long again.
var build = sync.OnceValue(func() error {
	out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", programDir+"/", "gridbroker/cmd/grid", "gridbroker/cmd/grid-launch", "gridbroker/cmd/grid-deploy").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
})

// waiting is how many tests run at once at least, however few processors there
// are, unless one alone is asked for: they wait for servers and for what
// strace(1) does, each in a home of its own.
const waiting = 6

func TestMain(m *testing.M) {
	flag.Parse()
	p := flag.Lookup("test.parallel")
	if n, err := strconv.Atoi(p.Value.String()); err == nil && n > 1 && n < waiting {
		_ = p.Value.Set(strconv.Itoa(waiting))
	}
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
func program(t testing.TB) string {
	t.Helper()
	if err := build(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(programDir, "grid")
}
