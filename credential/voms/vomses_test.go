package voms

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A pipe, a device or another odd thing in the place of a vomses or LSC file is told
// of, is not waited for, and keeps no other file back.
func TestOddFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	line := `"a" "voms.example.org" "15000" "/CN=voms.example.org" "a"` + "\n"
	if err := os.WriteFile(at("good"), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", at("endless")); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		servers, errs := ReadVomses(at("pipe"), at("endless"), at("good"), at("absent"))
		if len(servers) != 1 || len(errs) != 2 {
			t.Errorf("%v, %v", servers, errs)
		}
		for i, name := range []string{"pipe", "endless"} {
			if _, err := ReadLSC(at(name)); err == nil || !strings.Contains(err.Error(), at(name)+" is no regular file") || len(errs) > i && errs[i].Error() != err.Error() {
				t.Errorf("%s: %v", name, err)
			}
		}
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("no answer")
	}
}
