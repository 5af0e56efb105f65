package infosys

import (
	"compress/gzip"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

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
	testbed.Computes(t)
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
			testbed.Within(t, 2*time.Second, 200<<20, func() {
				s := (&Collector{}).Collect(t.Context(), &File{URL: "file:bomb", Path: path})
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
		testbed.Within(t, 2*time.Second, 200<<20, func() {
			well := &fake{name: "well", rs: one("well")}
			s := (&Collector{}).Collect(t.Context(), src, well)
			if len(s.Resources) != 1 || s.Outcomes[0].Err == nil || !strings.Contains(s.Outcomes[0].Err.Error(), base) {
				t.Errorf("%s: %+v", kind, s.Outcomes)
			}
		})
	}
}
