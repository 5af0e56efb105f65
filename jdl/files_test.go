package jdl

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestOpenedFilesEnd: an input file that grows while it is sent is sent as long as it was, and one of the kernel's, which
// says that it is empty, with what it has.
func TestOpenedFilesEnd(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(name, []byte("one line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	in, size, err := InputFile{Source: name}.Open()
	if err != nil || size != 9 {
		t.Fatal(size, err)
	}
	defer in.Close()
	out, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := out.WriteString("and another\n"); err != nil {
		t.Fatal(err)
	}
	copied, err := os.Create(filepath.Join(t.TempDir(), "copied"))
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	if n, err := io.Copy(copied, in); n != 9 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	const kernel = "/proc/version"
	want, err := os.ReadFile(kernel)
	if err != nil {
		t.Skip(err)
	}
	in, size, err = InputFile{Source: kernel}.Open()
	if err != nil || size != int64(len(want)) {
		t.Fatal(size, err)
	}
	defer in.Close()
	if got, err := io.ReadAll(in); err != nil || string(got) != string(want) {
		t.Errorf("%q, %v", got, err)
	}
}
