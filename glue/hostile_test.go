package glue

import (
	"fmt"
	"io"
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

// repeated is a text that has a part again and again, before it ends.
type repeated struct {
	head, part string
	left       int
	rest       []byte
}

// Read implements io.Reader: 16 KiB at most, as they come over TLS.
func (r *repeated) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.head != "" {
			r.rest, r.head = []byte(r.head), ""
		} else if r.left -= len(r.part); r.left < 0 {
			return 0, io.EOF
		} else {
			r.rest = []byte(r.part)
		}
	}
	n := copy(p[:min(len(p), 16<<10)], r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Information documents that keep a decoder busy with one part, or make one of many, are given up
// in little time, however well they stay below the bound of all.
func TestPartsWithoutEnd(t *testing.T) {
	testbed.Computes(t)
	many := func(s string) string { return strings.Repeat(s, max(1, (64<<10)/len(s))) }
	comments := strings.Repeat("x<!---->", 60_000)
	for name, c := range map[string]struct {
		add        func(*Decoder, io.Reader) error
		head, part string
	}{
		"attributes of one element":   {(*Decoder).AddARCInfoXML, "<InfoRoot ", many(`a="" `)},
		"a text in pieces":            {(*Decoder).AddARCInfoXML, "<InfoRoot>", "<a>" + comments + "</a>"},
		"one comment":                 {(*Decoder).AddARCInfoXML, "<!--", many("- ")},
		"a declaration":               {(*Decoder).AddARCInfoXML, "<!DOCTYPE x [", many("<!ENTITY a 'b'>")},
		"elements in elements":        {(*Decoder).AddARCInfoXML, "", many("<a>")},
		"blanks in JSON":              {(*Decoder).AddARCInfoJSON, "{", many(" ")},
		"blanks in JSON, interrupted": {(*Decoder).AddARCInfoJSON, `{"a":[1`, strings.Repeat(" ", 4000) + ",1"},
		"one text in JSON":            {(*Decoder).AddARCInfoJSON, `{"a":"`, many("x")},
		"one number in JSON":          {(*Decoder).AddARCInfoJSON, `{"a":1`, many("1")},
		"lists in lists":              {(*Decoder).AddARCInfoJSON, "", many("[")},
	} {
		t.Run(name, func(t *testing.T) {
			testbed.Within(t, 2*time.Second, 100<<20, func() {
				d := NewDecoder("https://ce.example.org/arex")
				if err := c.add(d, &repeated{head: c.head, part: c.part, left: 64 << 20}); err == nil {
					t.Error("it was taken")
				}
			})
		})
	}
}

// TestShortTagsWithoutEnd: tags of a few letters cost what they take in memory, beside their letters: 20 million of them,
// a hundred thousand to a subcluster, are cut where as much text would be.
func TestShortTagsWithoutEnd(t *testing.T) {
	testbed.Computes(t)
	for what, own := range map[string]int{"each its own": 1, "the same in another order": 0} {
		t.Run(what, func(t *testing.T) {
			testbed.Within(t, 2*time.Second, 250<<20, func() {
				d := NewDecoder("hostile")
				for n := 0; d.Err() == nil; n++ {
					if n == 200 {
						t.Fatal("all are taken in")
					}
					tags := make([][]byte, 100_000)
					for i := range tags {
						tags[i] = fmt.Appendf(nil, "T%d", own*n*len(tags)+(i+n)%len(tags))
					}
					id := fmt.Appendf(nil, "s%d", n)
					d.Add(&Entry{DN: []byte("o=x"), Attrs: []Attr{
						{[]byte("objectClass"), [][]byte{[]byte("GlueSubCluster")}},
						{[]byte("GlueSubClusterUniqueID"), [][]byte{id}},
						{[]byte("GlueHostApplicationSoftwareRunTimeEnvironment"), tags},
					}})
				}
			})
		})
	}
}
