package environment

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"gridbroker/environment/layers"
)

// On a disk without room an environment is not made, with a reason, and nothing of it stays.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("cannot mount a small disk here: %v", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	noise := make([]byte, 3<<20)
	r := rand.NewChaCha8([32]byte{1})
	r.Read(noise)
	for name, body := range map[string]string{
		"seen before":          string(noise),
		"seen while unpacking": string(make([]byte, 3<<20)), // compresses to nothing
	} {
		layout := t.TempDir()
		digest := layoutOf(t, layout, zstdOf, tarOf(t, file("big", body)))
		_, err := (&Cache{Dir: filepath.Join(dir, "cache"), Codec: layers.Codec{}}).Tree(t.Context(), &Definition{Tag: "X", Image: "oci:" + layout, Digest: digest})
		if _, ok := errors.AsType[*DeployError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
		for _, sub := range []string{"trees", "tmp"} {
			if left, _ := os.ReadDir(filepath.Join(dir, "cache", sub)); len(left) > 0 {
				t.Errorf("%s: %s holds %v", name, sub, left)
			}
		}
	}
}
