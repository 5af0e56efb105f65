package cli_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	served "github.com/google/go-containerregistry/pkg/registry"
)

// The first job of a node that asks for an image in a registry, and a hundred jobs that ask for one at once: the layer
// is fetched and unpacked once, and all run.
func TestFirstUseOfAnImage(t *testing.T) {
	t.Parallel()
	if testing.Short() || os.Getuid() != 0 {
		t.Skip("takes some seconds, as root")
	}
	f := newFarm(t)
	var blobs, bytes atomic.Int64
	inner := served.New(served.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/") {
			counted := &countedWriter{ResponseWriter: w}
			inner.ServeHTTP(counted, r)
			if counted.n > 10_000 { // no configuration, which is small
				blobs.Add(1)
				bytes.Store(counted.n)
			}
			return
		}
		inner.ServeHTTP(w, r)
	}))
	defer server.Close()
	place := "docker://" + strings.TrimPrefix(server.URL, "http://") + "/site/debian"
	f.grid("env", "push", "VEE-Debian11", place, "--node", f.path("node.json"))
	f.definition(place)
	for _, jobs := range []int{1, 100} {
		blobs.Store(0)
		if err := os.RemoveAll(f.path("cache")); err != nil {
			t.Fatal(err)
		}
		first, last, whole := f.crowd(t, jobs)
		if blobs.Load() != 1 {
			t.Errorf("%d jobs fetched the layer %d times", jobs, blobs.Load())
		}
		t.Logf("%d jobs, image of %.0f MB: unpacked %.2f s after they were asked for, the first started %.2f s and the last %.2f s after that",
			jobs, float64(bytes.Load())/1e6, whole.Seconds(), first.Seconds(), last.Seconds())
	}
}

// definition has the tag's image in a registry.
func (f *farm) definition(place string) {
	file := f.path("definitions/VEE-Debian11.toml")
	text, err := os.ReadFile(file)
	if err != nil {
		f.t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "image") {
			line = fmt.Sprintf("image = %q\n", place)
		}
		lines = append(lines, line)
	}
	f.write("definitions/VEE-Debian11.toml", strings.Join(lines, ""))
}

// crowd starts so many jobs at once and tells when the first and the last of them started after the tree was there, and
// how long that took.
func (f *farm) crowd(t *testing.T, jobs int) (first, last, whole time.Duration) {
	begin := time.Now()
	var all sync.WaitGroup
	for i := range jobs {
		dir := f.path(fmt.Sprintf("crowd-%d-%d", jobs, i))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			cmd := exec.Command(f.path("grid-launch"), "run", "--node", f.path("node.json"), "--sandbox", dir, "VEE-Debian11", "--", "/bin/sh", "-c", ": >at")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	all.Wait()
	records, _ := filepath.Glob(f.path("cache/trees/*.json"))
	if len(records) != 1 {
		t.Fatalf("trees: %v", records)
	}
	info, err := os.Stat(records[0])
	if err != nil {
		t.Fatal(err)
	}
	first = time.Hour
	for i := range jobs {
		at, err := os.Stat(f.path(fmt.Sprintf("crowd-%d-%d/at", jobs, i)))
		if err != nil {
			t.Fatal(err)
		}
		after := at.ModTime().Sub(info.ModTime())
		first, last = min(first, after), max(last, after)
	}
	return first, last, info.ModTime().Sub(begin)
}

// countedWriter counts the bytes of an answer.
type countedWriter struct {
	http.ResponseWriter
	n int64
}

func (w *countedWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.n += int64(n)
	return n, err
}
