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

// A delta or an answer of a million values is refused by their number before they are in memory.
func TestMillionsOfValues(t *testing.T) {
	testbed.Computes(t)
	for _, list := range []string{"put", "drop", "jobs", "jobs_gone", "queues", "bookings", "x"} {
		for _, value := range []string{"{}", "null", `""`} {
			text := []byte(`{"schema":"` + DeltaSchema + `","` + list + `":[` + value)
			text = append(text, bytes.Repeat([]byte(","+value), (60<<20)/(len(value)+1))...)
			text = append(text, "]}"...)
			t.Run(list+value, func(t *testing.T) {
				testbed.Within(t, 2*time.Second, 100<<20, func() {
					if _, err := DecodeDelta(text, DefaultLimits()); err == nil {
						t.Error("a delta")
					}
					if _, err := DecodeAck(bytes.Replace(text, []byte(DeltaSchema), []byte(AckSchema), 1), DefaultLimits()); err == nil {
						t.Error("an answer")
					}
				})
			})
		}
	}
}
