package sim

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Traces have as many jobs together as one of them may: a packed one of a megabyte that is named for sites of many sizes would
// be in memory for each of them. Sites of one size share it.
func TestTracesOfManySizes(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "t.swf"), []byte(swfLine(1, 0, 100, 2, 200, 3)+swfLine(2, 10, 100, 2, 50, 4)), 0o600); err != nil {
		t.Fatal(err)
	}
	of := func(procs ...int) error {
		s := &Scenario{}
		for _, n := range procs {
			s.Sites = append(s.Sites, Site{Procs: n, Trace: "t.swf"})
		}
		return s.readTraces(dir, 4)
	}
	if err := of(4, 4, 8, 8, 4); err != nil {
		t.Errorf("two sizes of two jobs each: %v", err)
	}
	if err := of(4, 8, 16); err == nil || !strings.Contains(err.Error(), "traces have more than") {
		t.Errorf("three sizes of two jobs each, of which four jobs may be: %v", err)
	}
}
