package cli

import (
	"archive/tar"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Nothing in an archive is younger than the file it was made of: tar would say
// so in the job's standard error.
func TestPackedFilesAreNotFromTheFuture(t *testing.T) {
	dir, file := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "in.tar")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	name, at := filepath.Join(dir, "file"), time.Unix(1_700_000_000, 900_000_000)
	if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(name, at, at); err != nil {
		t.Fatal(err)
	}
	if err := packDir(file, dir); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if err != nil {
			t.Fatal("the file is not in the archive: ", err)
		}
		if h.Name == "data/file" {
			if h.ModTime.After(at) {
				t.Errorf("packed as of %v, it is of %v", h.ModTime, at)
			}
			return
		}
	}
}
