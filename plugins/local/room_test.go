package local

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"gridbroker/plugins"
)

// TestSparseOutput: a file of holes that a job leaves is not unfolded over the disk.
func TestSparseOutput(t *testing.T) {
	src, dst := t.TempDir(), t.TempDir()
	for name, size := range map[string]int64{"holes": 1 << 40, "small": 3} {
		f, err := os.Create(filepath.Join(src, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Truncate(size), f.Close()); err != nil {
			t.Skip(err)
		}
	}
	from, _ := os.OpenRoot(src)
	to, _ := os.OpenRoot(dst)
	room := plugins.NewRoom(1 << 20)
	files, err := copyWanted(t.Context(), from, to, []string{"*"}, func(name string, size int64) error { return room.Take(dst, "local:", name, size) })
	if len(files) != 1 || files[0] != "small" || !errors.Is(err, plugins.ErrNoRoom) {
		t.Errorf("%q %v", files, err)
	}
}
