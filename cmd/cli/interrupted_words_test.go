package cli_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/cmd/cli"
	"gridbroker/durable"
	"gridbroker/plugins/all"
)

// TestInterruptedInWords: a verb that a signal ended before it had begun anything says that it was interrupted, and not
// what the language calls it.
func TestInterruptedInWords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "job.jdl"), []byte(`Executable = "/bin/true";`), 0o600); err != nil {
		t.Fatal(err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o660) // somebody else changes the tags
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := durable.Lock(t.Context(), lock); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for verb, args := range map[string][]string{"match": {"job.jdl"}, "submit": {"job.jdl"}, "tags": {"add", "VEE-A", "--store", "."}} {
		var out, errs bytes.Buffer
		env := cli.Env{In: strings.NewReader(""), Out: &out, Err: &errs, Dir: dir, Now: time.Now, UID: os.Getuid(), Exe: "/nonexistent",
			Getenv: func(name string) string { return map[string]string{"HOME": dir}[name] }, Backends: all.Backends()}
		if code := cli.Main(ctx, env, append([]string{verb}, args...)); code != 130 || !strings.Contains(errs.String(), "grid: interrupted") || strings.Contains(errs.String(), "canceled") {
			t.Errorf("%s: %d, %q", verb, code, errs.String())
		}
	}
}
