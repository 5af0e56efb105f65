package plugins_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"gridbroker/jdl"
	"gridbroker/plugins"
)

func TestMissingOutputs(t *testing.T) {
	for _, c := range []struct {
		sandbox string // beside StdOutput = "out"; StdError = "err"
		left    string
		missing string
		nothing bool
	}{
		{`"out", "err"`, "out err", "", false},
		{`"out", "err"`, "out", "err", false},
		{`"out", "err"`, "", "out err", true},
		{`"out", "a.root"`, "out err", "a.root", true},
		{`"a.root", "b.root"`, "out err a.root", "b.root", false},
		{`"a.root", "b.root"`, "out err c.root", "a.root b.root", true},
		{`"plots", "*.log"`, "out err plots/a.png", "", false},
		{`"*.log"`, "out err", "", false},
		{`"./a.root"`, "out err a.root", "", false},
	} {
		text := `Executable = "/bin/true"; StdOutput = "out"; StdError = "err"; OutputSandbox = {` + c.sandbox + `};`
		job, err := jdl.ParseJob("job.jdl", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		left := strings.Fields(c.left)
		if got := strings.Join(plugins.MissingOutputs(job, left), " "); got != c.missing {
			t.Errorf("{%s}, left %q: missing %q, want %q", c.sandbox, c.left, got, c.missing)
		}
		if _, got := plugins.LeftNothing(job, left); got != c.nothing {
			t.Errorf("{%s}, left %q: nothing %v, want %v", c.sandbox, c.left, got, c.nothing)
		}
	}
}

// The name of a part is one that a file system takes, and that of no other file.
func TestPartNames(t *testing.T) {
	long := strings.Repeat("n", 250)
	for name, want := range map[string]string{"a": "a.part", "dir/a": "dir/a.part", long: "", "dir/" + long: "", "": ".part"} {
		got := plugins.PartName(name, ".part")
		if want != "" && got != want {
			t.Errorf("%.20q: %q, want %q", name, got, want)
		}
		if base := got[strings.LastIndexByte(got, '/')+1:]; len(base) > 255 || !strings.HasSuffix(got, ".part") || strings.HasPrefix(name, "dir/") != strings.HasPrefix(got, "dir/") {
			t.Errorf("%.20q: %q", name, got)
		}
	}
	seen := map[string]bool{}
	for _, end := range []string{"", "a", "b"} {
		for _, suffix := range []string{".part", ".part-of"} {
			seen[plugins.PartName(long+end, suffix)] = true
		}
	}
	if len(seen) != 6 {
		t.Errorf("names that differ behind the cut share a part: %v", seen)
	}
}

// A file system that tells of no blocks at all, as some of FUSE and /proc do, is not taken for a full one.
func TestFileSystemThatTellsNoSize(t *testing.T) {
	var st syscall.Statfs_t
	if err := syscall.Statfs("/proc", &st); err != nil || st.Blocks != 0 {
		t.Skip("no such file system is here")
	}
	small := []jdl.InputFile{{Name: "small", Text: "small"}}
	if err := plugins.Fit("/proc", small); err != nil {
		t.Error(err)
	}
	if free, err := plugins.FreeBytes("/proc"); err == nil {
		t.Errorf("%d bytes are free", free)
	}
	room := plugins.NewRoom(0)
	if err := room.Take("/proc", "ce", "out", 1<<29); err != nil {
		t.Error("output is let in up to a gigabyte:", err)
	}
	if err := room.Take("/proc", "ce", "more", 1<<30); !errors.Is(err, plugins.ErrNoRoom) || !strings.Contains(err.Error(), "does not tell its size") {
		t.Error("output is let in without end:", err)
	}
}
