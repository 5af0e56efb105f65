package glue

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// A long text that many shares have in common, in whatever attribute, is kept once and
// makes no copy of itself for each of them.
func TestLongTextInCommon(t *testing.T) {
	testbed.Computes(t)
	const shares = 250
	for _, queries := range [][]Query{Queries20(nil), Queries13("", nil), QueriesARC(nil)} {
		for _, q := range queries {
			for _, begin := range []string{"", "vo:", "https://", "urn:a:b."} {
				long := []byte(begin + strings.Repeat("X", 15<<10))
				t.Run(q.What+" "+begin, func(t *testing.T) {
					d := NewDecoder("hostile")
					for i := range shares {
						for _, in := range queries {
							d.Add(inCommon(in, i, in.What == q.What, long))
						}
					}
					rs := d.Resources(time.Now())
					var m runtime.MemStats
					runtime.GC()
					runtime.ReadMemStats(&m)
					before := m.HeapAlloc
					n := len(rs)
					runtime.KeepAlive(rs)
					rs, d = nil, nil
					runtime.GC()
					runtime.ReadMemStats(&m)
					if held := int64(before) - int64(m.HeapAlloc); held > 2<<20 {
						t.Errorf("%d shares hold %d kB", n, held>>10)
					}
				})
			}
		}
	}
}

// inCommon is an entry with an identifier of its own; with all of its other attributes
// the long text.
func inCommon(q Query, n int, all bool, long []byte) *Entry {
	id := fmt.Appendf(nil, "id%d", n)
	e := &Entry{DN: fmt.Appendf(nil, "o=%s", id), Attrs: []Attr{{[]byte("objectClass"), [][]byte{[]byte(q.What)}}}}
	for _, name := range q.Attrs {
		value := id
		if low := strings.ToLower(name); all && !strings.HasSuffix(low, "shareid") && low != "glueceuniqueid" && low != "nordugrid-queue-name" && low != "gluevoviewlocalid" {
			value = long
		}
		e.Attrs = append(e.Attrs, Attr{[]byte(name), [][]byte{value}})
	}
	return e
}
