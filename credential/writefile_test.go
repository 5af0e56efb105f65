package credential

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A file is replaced in one step, whatever its mode was; what a killed process
// left is removed, what another one is writing is not.
func TestWriteSecret(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "bt_u1")
	write(t, path, []byte("old"), 0o644)
	for name, age := range map[string]time.Duration{".bt_u1.grid-1": time.Hour, ".bt_u1.grid-2": 0, ".other.grid-3": time.Hour} {
		write(t, filepath.Join(dir, name), []byte("secret"), 0o600)
		if err := os.Chtimes(filepath.Join(dir, name), time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	if err := WriteSecret(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if data, _ := os.ReadFile(path); err != nil || string(data) != "new" || info.Mode().Perm() != 0o600 {
		t.Errorf("%q, %v, %v", data, info, err)
	}
	if got := names(t, dir); !slices.Equal(got, []string{".bt_u1.grid-2", ".other.grid-3", "bt_u1"}) {
		t.Errorf("left: %v", got)
	}
}

// A failure leaves neither a file nor part of one.
func TestWriteSecretFails(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "target"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WriteSecret(filepath.Join(dir, "target"), []byte("x")); err == nil {
		t.Error("a directory was replaced")
	}
	if got := names(t, dir); !slices.Equal(got, []string{"target"}) {
		t.Errorf("left: %v", got)
	}
}

// The buffers that held the key are empty after the file is written, and a
// reader's buffer after the key is parsed.
func TestKeyTextIsCleared(t *testing.T) {
	alice := newCA(t, "CA").user(t, "Alice", nil)
	text, err := alice.pem()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "PRIVATE KEY") {
		t.Fatal("no key in the file")
	}
	// pem() must not have grown its buffer: a copy would have been left behind.
	if len(text) != cap(text) {
		t.Errorf("%d bytes in a buffer of %d", len(text), cap(text))
	}
	asked := []byte("open sesame")
	_, err = openKey("f", func(string) ([]byte, error) { return asked, nil }, func([]byte) (any, error) { return alice.key, nil })
	if err != nil || !slices.Equal(asked, make([]byte, len(asked))) {
		t.Errorf("the passphrase is still there: %q, %v", asked, err)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}
