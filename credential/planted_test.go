package credential

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestPlantedFiles: a proxy or token that another user planted is used by
// nobody, root included.
func TestPlantedFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "planted")
	if err := os.WriteFile(path, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	owner := os.Getuid()
	if owner == 0 { // root's own files cannot be another user's
		owner = 4711
		if err := os.Chown(path, owner, owner); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range []string{"x509", "token"} {
		for _, uid := range []int{0, owner + 1} {
			_, err := readSecret(Env{UID: uid}, kind, "the file", path)
			if f, ok := errors.AsType[*Finding](err); !ok || f.ID != kind+".owner" {
				t.Errorf("%s planted for user %d: %v, want the finding %s.owner", kind, uid, err, kind)
			}
		}
		if _, err := readSecret(Env{UID: owner}, kind, "the file", path); err != nil {
			t.Errorf("%s of the user's own: %v", kind, err)
		}
	}
}
