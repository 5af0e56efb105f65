package cli

import (
	"archive/tar"
	"io"
	"maps"
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
	h, there := packed(t, file)["data/file"]
	if !there {
		t.Fatal("the file is not in the archive")
	}
	if h.ModTime.After(at) {
		t.Errorf("packed as of %v, it is of %v", h.ModTime, at)
	}
}

// member is one of an archive.
type member struct {
	*tar.Header
	text string
}

func packed(t *testing.T, file string) map[string]member {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := map[string]member{}
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all[h.Name] = member{h, string(text)}
	}
}

// A directory that is named by a link is packed with what is in it, under the name that was given; links within it stay links,
// and lead nobody's files into the archive.
func TestPackedLinks(t *testing.T) {
	base := t.TempDir()
	for name, text := range map[string]string{"real/file": "in", "secret": "out"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(base, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(base, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"data": "real", "real/up": "..", "real/away": "../secret", "real/round": "round", "again": "data"} {
		if err := os.Symlink(to, filepath.Join(base, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"data", "data/", "again", "real/up/data"} {
		file := filepath.Join(t.TempDir(), "in.tar")
		if err := packDir(file, base+"/"+dir); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for name, m := range packed(t, file) {
			got[name] = m.Linkname + m.text
		}
		name := filepath.Base(dir)
		want := map[string]string{name: "", name + "/file": "in", name + "/up": "..", name + "/away": "../secret", name + "/round": "round"}
		if !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", dir, got, want)
		}
	}
}
