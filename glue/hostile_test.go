package glue

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// A source that publishes without end is cut short, and what was taken in of it
// still makes resources within the bound on memory.
func TestEndlessShares(t *testing.T) {
	testbed.Computes(t)
	long := []byte(strings.Repeat("x", 12<<10))
	for what, pad := range map[string][]byte{"shares": nil, "MB of text": long} {
		t.Run(what, func(t *testing.T) {
			testbed.Within(t, 2*time.Second, 200<<20, func() {
				d := NewDecoder("hostile")
				n := 0
				for ; d.Err() == nil; n++ {
					id := fmt.Appendf(nil, "%d%s", n, pad)
					d.Add(&Entry{DN: []byte("o=x"), Attrs: []Attr{
						{[]byte("objectClass"), [][]byte{[]byte("GLUE2ComputingShare")}},
						{[]byte("GLUE2ShareID"), [][]byte{id}},
						{[]byte("GLUE2ComputingShareMappingQueue"), [][]byte{id}},
					}})
				}
				if err := d.Err(); !strings.Contains(err.Error(), what) {
					t.Error(err)
				}
				rs := d.Resources(time.Now())
				if len(rs) < n-1 || len(rs) > maxResources+1 {
					t.Errorf("%d resources of %d entries", len(rs), n)
				}
			})
		})
	}
}
