package main_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"gridbroker/testdata/testbed"
)

// A job whose input cannot be had fails at a real A-REX, and goes on there when the input
// is back: it is not sent again.
func TestRestartedAtARC(t *testing.T) {
	t.Parallel()
	for _, url := range testbed.NeedARC(t).Versions() {
		t.Run(url, func(t *testing.T) { restartedAt(t, url) })
	}
}

func restartedAt(t *testing.T, url string) {
	var back atomic.Bool
	store := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		if !back.Load() {
			http.NotFound(out, in)
			return
		}
		_, _ = out.Write([]byte("forty-two\n"))
	}))
	defer store.Close()
	w := newWorld(t)
	job := filepath.Join(w.dir, "late.jdl")
	text := `Executable = "/bin/cat"; Arguments = "in.txt"; InputSandbox = {"` + store.URL + `/in.txt"}; StdOutput = "out"; OutputSandbox = {"out"}; RetryCount = 0; ShallowRetryCount = 0;`
	if err := os.WriteFile(job, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, said, code := w.try("submit", "--wait", "--timeout", "5m", "--no-cache", "--info", url, job)
	if code != 1 || !strings.Contains(said, "failed") {
		t.Fatalf("code %d: %s%s", code, out, said)
	}
	id := strings.Fields(out)[0]
	back.Store(true)
	if out, said, code = w.try("restart", id); code != 0 {
		t.Fatalf("restart: code %d: %s%s", code, out, said)
	}
	if out, said, code = w.try("watch", "--timeout", "5m", id); code != 0 {
		t.Errorf("watch: code %d: %s%s", code, out, said)
	}
	if out, said, code = w.try("cat", id, "out"); code != 0 || out != "forty-two\n" {
		t.Errorf("output: code %d: %s%s", code, out, said)
	}
	if out, said, code = w.try("show", id); !strings.Contains(out, "earlier attempts") {
		t.Errorf("how it failed is forgotten: code %d: %s%s", code, out, said)
	}
	if n := w.names(url)[id]; n != 1 {
		t.Errorf("the job is there %d times", n)
	}
	if out, said, code = w.try("restart", id); code != 1 || !strings.Contains(out+said, "only a job that has failed goes on") {
		t.Errorf("again: code %d: %s%s", code, out, said)
	}
}
