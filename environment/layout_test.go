package environment

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

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
