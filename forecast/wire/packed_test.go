package wire

import (
	"bytes"
	"compress/gzip"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// A delta that is packed in a million parts that hold nothing, or in a part of a million
// blocks that do, is read in little time.
func TestPackedNothing(t *testing.T) {
	testbed.Computes(t)
	var part bytes.Buffer
	if err := gzip.NewWriter(&part).Close(); err != nil {
		t.Fatal(err)
	}
	blocks := append(part.Bytes()[:10:10], bytes.Repeat([]byte{0, 0, 0, 0xff, 0xff}, 12<<20)...)
	for name, text := range map[string][]byte{"parts": bytes.Repeat(part.Bytes(), (63<<20)/part.Len()), "blocks": blocks} {
		t.Run(name, func(t *testing.T) {
			testbed.Within(t, 2*time.Second, 100<<20, func() {
				if d, err := DecodeDelta(text, DefaultLimits()); err == nil {
					t.Errorf("a delta: %+v", d)
				}
			})
		})
	}
}
