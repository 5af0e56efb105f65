package remote

import (
	"os"
	"path/filepath"
	"testing"
)

// A key that others may read is not used, as ssh does.
func TestKeyOfAll(t *testing.T) {
	file := filepath.Join(t.TempDir(), "id_ed25519")
	if err := os.WriteFile(file, []byte("key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := private(file); err != nil {
		t.Error(err)
	}
	for _, mode := range []os.FileMode{0o644, 0o640, 0o604, 0o660} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		if private(file) == nil {
			t.Errorf("a key of mode %04o is used", mode)
		}
	}
	if os.Geteuid() == 0 {
		if err := os.Chmod(file, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(file, 12345, 0); err != nil {
			t.Fatal(err)
		}
		if private(file) == nil {
			t.Error("a key of another user is used")
		}
	}
}
