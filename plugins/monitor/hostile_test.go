package monitor

import (
	"io"
	"strings"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// again is a text that comes again and again.
type again struct{ text, rest string }

// Read implements io.Reader.
func (a *again) Read(p []byte) (int, error) {
	if a.rest == "" {
		a.rest = a.text
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// What Ganglia says of hosts is given up where one of its tags has no end.
func TestGangliaWithoutEnd(t *testing.T) {
	testbed.Computes(t)
	for _, c := range [][2]string{{"<GANGLIA_XML ", strings.Repeat(`a="" `, 10_000)}, {"<GANGLIA_XML><HOST ", strings.Repeat(`NAME="x" `, 10_000)}, {"<!--", strings.Repeat("- ", 30_000)}} {
		testbed.Within(t, 2*time.Second, 50<<20, func() {
			in := io.MultiReader(strings.NewReader(c[0]), io.LimitReader(&again{text: c[1]}, maxGanglia))
			if rs, err := parseGanglia(in, 0, time.Now()); err == nil || !strings.Contains(err.Error(), "more than") {
				t.Errorf("%s: %d hosts, %v", c[0], len(rs), err)
			}
		})
	}
}
