package main_test

import (
	"os"
	"strings"
	"testing"
)

// TestFilesOfTheKernel: what the system calls a regular file of no bytes, and what has no end, keeps no description
// from being refused that names it for a list of jobs or a node.
func TestFilesOfTheKernel(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	v.write("list.sub", "executable = /bin/true\nqueue x from /proc/self/pagemap\n")
	v.write("node.jdl", `[ Type = "Collection"; Nodes = { [ File = "/proc/self/pagemap"; ] } ]`)
	if _, err := os.Stat("/proc/self/pagemap"); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{"list.sub", "node.jdl"} {
		h := v.grid(0, "jdl", "check", name)
		h.errs += h.out
		v.boundedBy(h, "/proc/", 60<<20)
		if h.code != 2 || strings.Contains(h.errs, "no problems") {
			t.Errorf("%s: exit code %d after %v\n%s", name, h.code, h.took, h.errs)
		}
	}
	// Submitted, they end no sooner than the disk is full, or what waits for them.
	v.write("in.jdl", `Executable = "/bin/true"; InputSandbox = {"/proc/self/pagemap"};`)
	h := v.grid(0, "submit", "--info", "local:", "in.jdl")
	h.errs += h.out
	v.boundedBy(h, "/proc/", 60<<20)
	if h.code != 1 || !strings.Contains(h.errs, "input file pagemap: /proc/self/pagemap: ") {
		t.Errorf("exit code %d after %v\n%s", h.code, h.took, h.errs)
	}
	h = v.grid(0, "run", "--info", "local:", "--in", "/proc/version", "--", "cat", "version")
	if want, err := os.ReadFile("/proc/version"); err != nil || h.out != string(want) {
		t.Errorf("exit code %d: %q for %q %v\n%s", h.code, h.out, want, err, h.errs)
	}
}
