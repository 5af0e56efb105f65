package environment

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"gridbroker/environment/layers"
)

// A tree built into a layout, copied to another one and unpacked is the tree again.
func TestBuildImportUnpack(t *testing.T) {
	tree := filepath.Join(t.TempDir(), "tree")
	os.MkdirAll(filepath.Join(tree, "etc/deep"), 0o755)
	write(t, filepath.Join(tree, "etc/os-release"), "ID=x\n")
	os.Chmod(filepath.Join(tree, "etc/os-release"), 0o644)
	os.Link(filepath.Join(tree, "etc/os-release"), filepath.Join(tree, "etc/twin"))
	os.Symlink("../os-release", filepath.Join(tree, "etc/deep/link"))
	unix.Mkfifo(filepath.Join(tree, "etc/pipe"), 0o644)
	a, b := Layout{filepath.Join(t.TempDir(), "a"), layers.Codec{}}, Layout{filepath.Join(t.TempDir(), "b"), layers.Codec{}}
	digest, err := a.Build(context.Background(), tree)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := a.Build(context.Background(), tree); err != nil || again != digest {
		t.Errorf("the second time: %s, %v, want %s", again, err, digest)
	}
	if got, err := b.Import(context.Background(), "oci:"+a.Dir, digest, nil); err != nil || got != digest {
		t.Fatalf("%s, %v", got, err)
	}
	c := &Cache{Dir: filepath.Join(t.TempDir(), "cache"), Codec: layers.Codec{}}
	tr, err := c.Tree(t.Context(), &Definition{Tag: "X", Image: "oci:" + b.Dir, Digest: digest})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	for _, name := range []string{"etc/os-release", "etc/twin", "etc/deep/link"} {
		if text, err := os.ReadFile(filepath.Join(tr.Path, name)); err != nil || string(text) != "ID=x\n" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(tr.Path, "etc/pipe")); err == nil {
		t.Error("the pipe is there")
	}
	if _, err := exec.LookPath("skopeo"); err != nil {
		t.Log("no skopeo here to read the layout with: Debian package skopeo")
	} else if out, err := exec.Command("skopeo", "inspect", "--raw", "oci:"+b.Dir).CombinedOutput(); err != nil {
		t.Errorf("skopeo: %v\n%s", err, out)
	}
}

// What is no archive, or was cut, becomes no image; nor does one whose making was interrupted.
func TestBuildTakesWholeArchives(t *testing.T) {
	whole := tarOf(t, file("a", "text"), file("b", strings.Repeat("x", 5000)))
	told, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name, text string
		ctx        context.Context
		ok         bool
	}{
		{"whole", string(whole), t.Context(), true},
		{"gzip", string(gzipOf(t, whole)), t.Context(), true},
		{"followed by zeros", string(whole) + strings.Repeat("\x00", 9000), t.Context(), true},
		{"cut", string(whole[:3000]), t.Context(), false},
		{"text", strings.Repeat("no archive at all\n", 100), t.Context(), false},
		{"short", "{}", t.Context(), false},
		{"empty", "", t.Context(), false},
		{"interrupted", string(whole), told, false},
	} {
		archive, l := filepath.Join(t.TempDir(), "a.tar"), Layout{filepath.Join(t.TempDir(), "l"), layers.Codec{}}
		write(t, archive, tt.text)
		_, err := l.BuildArchive(tt.ctx, archive)
		left, _ := filepath.Glob(filepath.Join(l.Dir, "blobs/sha256/*"))
		if (err == nil) != tt.ok || (len(left) > 0) != tt.ok {
			t.Errorf("%s: %v, blobs %v", tt.name, err, left)
		}
	}
}

// Blobs whose writers died go with the next image that is made; those that are being written stay.
func TestBlobsOfDeadWriters(t *testing.T) {
	l := Layout{filepath.Join(t.TempDir(), "l"), layers.Codec{}}
	if err := l.prepare(); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-time.Hour)
	for _, name := range []string{"dead", "alive"} {
		f, err := os.Create(l.blob("sha256:" + newBlob + name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		os.Chtimes(f.Name(), long, long)
		if name == "alive" {
			if err := lockFile(f, unix.F_WRLCK); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := l.prepare(); err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(l.blob("sha256:*"))
	if len(left) != 1 || filepath.Base(left[0]) != newBlob+"alive" {
		t.Errorf("left: %v", left)
	}
}

// Images are added to a layout that came from others: nothing is written or removed outside of it, and nobody waits.
func TestLayoutsOfOthersAreWrittenInThemselves(t *testing.T) {
	for name, plant := range map[string]func(dir, victim string) error{
		"index that is a pipe": func(dir, _ string) error { return unix.Mkfifo(filepath.Join(dir, "index.json"), 0o644) },
		"new index that is a link": func(dir, victim string) error {
			return os.Symlink(filepath.Join(victim, "file"), filepath.Join(dir, ".index.json.new"))
		},
		"lock that is a pipe": func(dir, _ string) error { return unix.Mkfifo(filepath.Join(dir, ".lock"), 0o644) },
		"lock that is a link": func(dir, victim string) error {
			return os.Symlink(filepath.Join(victim, "lock"), filepath.Join(dir, ".lock"))
		},
		"blobs that are a link": func(dir, victim string) error { return os.Symlink(victim, filepath.Join(dir, "blobs")) },
		"mark that is a link": func(dir, victim string) error {
			return os.Symlink(filepath.Join(victim, "file"), filepath.Join(dir, "oci-layout"))
		},
		"sha256 that is a link": func(dir, victim string) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, "blobs"), 0o755), os.Symlink(victim, filepath.Join(dir, "blobs/sha256")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, victim := Layout{t.TempDir(), layers.Codec{}}, t.TempDir()
			long := time.Now().Add(-48 * time.Hour)
			for _, file := range []string{"file", newBlob + "file"} {
				path := filepath.Join(victim, file)
				if err := errors.Join(os.WriteFile(path, []byte("kept"), 0o600), os.Chtimes(path, long, long)); err != nil {
					t.Fatal(err)
				}
			}
			if err := plant(l.Dir, victim); err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() { l.add(t.Context(), bytes.NewReader(tarOf(t, file("a", "1")))); close(done) }()
			select {
			case <-done:
			case <-time.After(10 * time.Second):
				t.Fatal("it waits")
			}
			left, err := os.ReadDir(victim)
			if err != nil || len(left) != 2 {
				t.Errorf("outside are %v, %v", left, err)
			}
			if text, err := os.ReadFile(filepath.Join(victim, "file")); err != nil || string(text) != "kept" {
				t.Errorf("outside is %q, %v", text, err)
			}
		})
	}
}

// TestLayoutsWhoseLockIsHeld: who holds the lock of a layout that several users write to keeps them waiting for a while, not for ever.
func TestLayoutsWhoseLockIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Layout{t.TempDir(), layers.Codec{}}
		held, err := os.Create(filepath.Join(l.Dir, ".lock"))
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()
		if err := unix.Flock(int(held.Fd()), unix.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Minute, func() { held.Close() })
		began := time.Now()
		if err := l.enter(t.Context(), "sha256:x", 1); err == nil || !strings.Contains(err.Error(), "somebody else has held the lock") || time.Since(began) > 30*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

// An image whose blob was exchanged at its source is not imported.
func TestImportRefusesExchangedBlobs(t *testing.T) {
	dir := t.TempDir()
	digest := layoutOf(t, dir, zstdOf, tarOf(t, file("f", "text")))
	blobs, _ := filepath.Glob(filepath.Join(dir, "blobs/sha256/*"))
	for _, blob := range blobs {
		text, _ := os.ReadFile(blob)
		os.WriteFile(blob, bytes.Replace(append([]byte(nil), text...), text[:1], []byte("~"), 1), 0o644)
		into := Layout{Dir: filepath.Join(t.TempDir(), "l")}
		if _, err := into.Import(t.Context(), "oci:"+dir, digest, nil); err == nil {
			t.Errorf("%s: imported", blob)
		}
		if left, _ := filepath.Glob(filepath.Join(into.Dir, "index.json")); left != nil {
			t.Error("it is in the index")
		}
		os.WriteFile(blob, text, 0o644)
	}
}

// What keeps an image from being made is said once.
func TestErrorOfABuildIsSaidOnce(t *testing.T) {
	l := Layout{Dir: t.TempDir(), Codec: layers.Codec{}}
	if _, err := l.add(t.Context(), iotest.ErrReader(errors.New("etc/secret: permission denied"))); err == nil || err.Error() != "etc/secret: permission denied" {
		t.Errorf("%v", err)
	}
}
