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

// Trees of one source cost no more together than one of them may; and one whose
// computing elements account for all that it has is whole beside one that is cut.
func TestTreesOfOneSource(t *testing.T) {
	testbed.Computes(t)
	share := func(tree string, n int) *Entry {
		id := fmt.Appendf(nil, "%s%d", tree, n)
		return &Entry{DN: []byte("o=glue"), Attrs: []Attr{{[]byte("objectClass"), [][]byte{[]byte("GLUE2ComputingShare")}}, {[]byte("GLUE2ShareID"), [][]byte{id}}}}
	}
	service := func(n int) *Entry {
		return &Entry{DN: []byte("o=glue"), Attrs: []Attr{{[]byte("objectClass"), [][]byte{[]byte("GLUE2ComputingService")}}, {[]byte("GLUE2ServiceID"), [][]byte{fmt.Appendf(nil, "s%d", n)}}}}
	}
	one, two, honest := NewDecoder("rogue"), NewDecoder("rogue"), NewDecoder("rogue")
	ShareBounds([]*Decoder{one, two, honest})
	for i := range 2 * maxResources {
		one.Add(share("one", i))
		two.Add(share("two", i))
		if i%ceShares == 0 {
			honest.Add(service(i))
		}
		honest.Add(share("honest", i))
	}
	if one.Err() == nil || two.Err() == nil || !strings.Contains(one.Err().Error(), "shares") || honest.Err() != nil {
		t.Errorf("%v, %v, %v", one.Err(), two.Err(), honest.Err())
	}
	if honest.big != 2*maxResources || one.big+two.big > maxResources+2 || one.big < maxResources/3 {
		t.Errorf("%d, %d and %d shares", one.big, two.big, honest.big)
	}
	alone := NewDecoder("rogue")
	for i := range 2 * maxResources {
		alone.Add(share("alone", i))
	}
	if alone.big != maxResources+1 {
		t.Errorf("another source has %d shares", alone.big)
	}
}
