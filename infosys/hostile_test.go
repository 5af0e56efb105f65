package infosys

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// within runs do and fails when it takes longer or more memory than allowed.
func within(t *testing.T, limit time.Duration, memory uint64, do func()) {
	t.Helper()
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var peak atomic.Uint64
	ctx, stop := context.WithCancel(t.Context())
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for ctx.Err() == nil {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak.Store(max(peak.Load(), m.HeapInuse))
			time.Sleep(5 * time.Millisecond)
		}
	}()
	start := processor(t)
	do()
	took := processor(t) - start
	stop()
	<-watched
	used := max(peak.Load(), before.HeapInuse) - before.HeapInuse
	if used > memory {
		t.Errorf("%d MB more than before", used>>20)
	}
	if took > slower*limit {
		t.Errorf("took %v", took)
	}
	t.Logf("%v, %d MB", took.Round(time.Millisecond), used>>20)
}

// processor is the time that this process has computed for: the machine may
// have other work, which is no fault of what is measured.
func processor(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// pour writes head, a text again and again for so many bytes, and tail.
func pour(w io.Writer, head, text, tail string, size int) {
	_, _ = io.WriteString(w, head)
	block := strings.Repeat(text, 1+64<<10/len(text))
	for n := 0; n < size; n += len(block) {
		if _, err := io.WriteString(w, block); err != nil {
			return
		}
	}
	_, _ = io.WriteString(w, tail)
}

// Small files that unpack to much more.
func TestPackedBombs(t *testing.T) {
	for name, c := range map[string]struct{ head, text, tail string }{
		"resources":       {`{"schema":"grid.snapshot/v2","resources":[`, "{},", "{}]}"},
		"named resources": {`{"schema":"grid.snapshot/v2","resources":[`, `{"id":"a"},`, "{}]}"},
		"one resource":    {`{"schema":"grid.snapshot/v2","resources":[{"id":"a","access":["`, `","`, `"]}]}`},
		"one string":      {`{"schema":"grid.snapshot/v2","resources":[{"id":"`, `x`, `"}]}`},
		"sources":         {`{"schema":"grid.snapshot/v2","sources":[`, "{},", `{}],"resources":[]}`},
		"blank":           {`{"schema":"grid.snapshot/v2",`, " ", `"resources":[]}`},
		"ARC's JSON":      {`{"a":[`, "{},", "{}]}"},
		"ARC's XML":       {`<a>`, "<b/>", "</a>"},
		"LDIF":            {"", "dn: o=x\nobjectClass: GLUE2ComputingShare\nGLUE2ShareID: x\n\n", ""},
		"LDIF's rules":    {"", "dn: o=x\nobjectClass: GLUE2MappingPolicy\nGLUE2PolicyID: x\nGLUE2PolicyRule: VO:a\n\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "bomb")
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			z := gzip.NewWriter(f)
			pour(z, c.head, c.text, c.tail, 60<<20)
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			f.Close()
			within(t, 2*time.Second, 200<<20, func() {
				s := Collect(t.Context(), &File{URL: "file:bomb", Path: path})
				if len(s.Resources) > maxSnapshot {
					t.Errorf("%d resources", len(s.Resources))
				}
			})
		})
	}
}

// A CE whose information has no end fails alone.
func TestEndlessInformation(t *testing.T) {
	for kind, c := range map[string][2]string{"application/json": {`{"a":[`, "{},"}, "application/xml": {"<a>", "<b/>"}} {
		base, o := arcServer(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			pour(w, c[0], c[1], "", 1<<40)
		})
		src, err := o.Open(base)
		if err != nil {
			t.Fatal(err)
		}
		within(t, 2*time.Second, 200<<20, func() {
			well := &fake{name: "well", rs: one("well")}
			s := Collect(t.Context(), src, well)
			if len(s.Resources) != 1 || s.Outcomes[0].Err == nil || !strings.Contains(s.Outcomes[0].Err.Error(), base) {
				t.Errorf("%s: %+v", kind, s.Outcomes)
			}
		})
	}
}
