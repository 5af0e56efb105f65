package jdl

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
)

// TestGlobIsBounded: a pattern over a tree without end gives up; an ordinary
// one finds what it is to find.
func TestGlobIsBounded(t *testing.T) {
	dir := t.TempDir()
	for i := range 300 {
		if err := os.Mkdir(filepath.Join(dir, fmt.Sprint("d", i)), 0o700); err != nil {
			t.Fatal(err)
		}
		// Around in circles: 300 to the power of the pattern's depth.
		if err := os.Symlink("..", filepath.Join(dir, fmt.Sprint("d", i), "up")); err != nil {
			t.Fatal(err)
		}
	}
	found, err := globWithin(os.DirFS(dir), "*/*/*/*/*/*/*/*/*/*/*/*/*/*")
	if !errors.Is(err, errGlobTooWide) {
		t.Errorf("%d found (%v), want the budget to end it", len(found), err)
	}
	if found, err := globWithin(os.DirFS(dir), "d1?/up"); err != nil || len(found) != 10 {
		t.Errorf("%v (%v), want d10 to d19", found, err)
	}
	files := fstest.MapFS{}
	for i := range maxGlobEntries {
		files[fmt.Sprintf("a/%06d", i)] = &fstest.MapFile{}
	}
	if _, err := globWithin(files, "a/*9"); !errors.Is(err, errGlobTooWide) {
		t.Errorf("a directory of %d files: %v", maxGlobEntries, err)
	}
}
