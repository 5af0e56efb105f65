package environment

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"gridbroker/environment/layers"
	"gridbroker/testdata/testbed"
)

// launcherProgram is grid-launch, built once for the tests that run it.
var launcherProgram string

func TestMain(m *testing.M) {
	if spec := os.Getenv("GRID_TEST_UNPACK"); spec != "" {
		os.Exit(unpackForTest(spec))
	}
	os.Setenv("PATH", os.Getenv("PATH")+":"+filepath.Join(testbed.Dir(), "environment", "apptainer", "usr", "bin"))
	dir, err := os.MkdirTemp("", "grid-launch")
	if err != nil {
		panic(err)
	}
	os.Chmod(dir, 0o755)
	launcherProgram = filepath.Join(dir, "grid-launch")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", dir, "gridbroker/cmd/grid-launch", "gridbroker/cmd/grid-deploy")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		os.Exit(1)
	}
	if err := install(launcherProgram); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// install lays a program down as installing it does: what the linker wrote piece by piece starts 0.25 ms later.
func install(program string) error {
	text, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	if err := os.Remove(program); err != nil {
		return err
	}
	return os.WriteFile(program, text, 0o755)
}

type unpackSpec struct {
	Dir string
	D   *Definition
}

func unpackForTest(spec string) int {
	var s unpackSpec
	if err := json.Unmarshal([]byte(spec), &s); err != nil {
		return 1
	}
	t, err := (&Cache{Dir: s.Dir, Codec: layers.Codec{}}).Tree(context.Background(), s.D)
	if err != nil {
		return 1
	}
	t.Close()
	return 0
}

// forkUnpack starts a process of this program that unpacks a definition's image.
func forkUnpack(dir string, d *Definition) (pid int, err error) {
	spec, err := json.Marshal(unpackSpec{dir, d})
	if err != nil {
		return 0, err
	}
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	return syscall.ForkExec(self, []string{self}, &syscall.ProcAttr{
		Env: append(os.Environ(), "GRID_TEST_UNPACK="+string(spec)), Files: []uintptr{0, 1, 2},
	})
}
