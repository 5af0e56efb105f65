package credential

import (
	"os"
	"path/filepath"
	"testing"
)

// TestSecretsOfDaemons: what others can read or exchange is refused; a file of
// root's may be open to a group for those who are not root.
func TestSecretsOfDaemons(t *testing.T) {
	own := os.Getuid()
	for _, c := range []struct {
		mode os.FileMode
		uid  int
		well bool
	}{{0o600, own, true}, {0o640, own, false}, {0o604, own, false}, {0o640, 4711, true}, {0o440, 4711, true}, {0o660, 4711, false}, {0o644, 4711, false}} {
		if c.uid != own && own != 0 {
			continue // of root's files
		}
		path := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(path, []byte("4711"), c.mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadSecret(Env{UID: c.uid}, path); (err == nil) != c.well {
			t.Errorf("mode %04o read by user %d: %v, want it to be read: %v", c.mode, c.uid, err, c.well)
		}
	}
}
