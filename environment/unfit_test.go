package environment

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What keeps an environment from being made is the site's, and no fault of the job's program: 125, and the other launchers
// are tried first.
func TestEnvironmentThatCannotBeMadeIsNoFaultOfTheJob(t *testing.T) {
	eachIsolating(t, "[limits]\nopen_files = 2000000000", func(t *testing.T, n *testNode) {
		out, code := n.sh("true")
		if code != exitNotDeployed || !strings.Contains(out, "limit of open files") {
			t.Errorf("%d: %s", code, out)
		}
	})
	n := newNode(t, `launchers = ["namespaces", "bwrap"]`+"\n[limits]\nopen_files = 2000000000")
	need(t, "bwrap")
	if out, code := n.sh("true"); code != exitNotDeployed || !strings.Contains(out, "namespaces: ") || !strings.Contains(out, "bwrap: ") {
		t.Errorf("%d: %s", code, out)
	}
}

// A program that was built with cgo, as nobody should, gives jobs a network of their own, too.
func TestLauncherBuiltWithCgo(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc")
	}
	n := newNode(t, `launchers = ["namespaces"]`)
	program := filepath.Join(n.dir, "grid-launch")
	build := exec.Command("go", "build", "-o", program, "gridbroker/cmd/grid-launch")
	build.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	n.sh("true") // deployed by the other
	cmd := n.command("sh", "-c", "grep : /proc/net/dev; wget -q -O- http://127.0.0.1:1/ 2>&1")
	cmd.Path = program
	out, _ := cmd.CombinedOutput()
	if !strings.HasPrefix(strings.TrimSpace(string(out)), "lo:") || strings.Count(string(out), "\n") != 2 || !strings.Contains(string(out), "refused") {
		t.Errorf("%s", out)
	}
}

// An image in which the sandbox's place is a link would have a job write its output to where nobody looks for it.
func TestSandboxThatIsALink(t *testing.T) {
	for _, target := range []string{"/tmp", "mnt", "/dev/shm"} {
		for _, name := range isolating() {
			t.Run(name+target, func(t *testing.T) {
				t.Parallel()
				need(t, name)
				n := newNodeOf(t, fmt.Sprintf("launchers = [%q]", name), symlink("sandbox", target))
				if out, code := n.sh("echo x >/sandbox/out; echo ran"); code != exitNotDeployed {
					t.Errorf("%d: %s", code, out)
				}
			})
		}
	}
}
