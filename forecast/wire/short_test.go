package wire_test

import (
	"bytes"
	"fmt"
	"testing"

	"gridbroker/forecast/wire"
)

// A delta that says only that all is as it was is not gzipped; a long one is, and
// both are read.
func TestShortDeltasPlain(t *testing.T) {
	p := &wire.Packer{}
	for _, slots := range []int{0, 500} {
		d := &wire.Delta{Cluster: "c", Seq: 2, Base: (&wire.Set{}).Digest(), Digest: (&wire.Set{}).Digest(), Made: 1_700_000_000, TTL: 60}
		for i := range slots {
			d.Put = append(d.Put, wire.Slot{ID: uint64(i + 1), Node: fmt.Sprint("node", i), CPUs: 1, From: 1_700_000_000, Start: 1, Hold: 1})
		}
		text, err := p.Delta(d)
		if err != nil {
			t.Fatal(err)
		}
		if packed := bytes.HasPrefix(text, []byte{0x1f, 0x8b}); packed != (slots > 0) {
			t.Errorf("%d slots, %d bytes: gzipped %v", slots, len(text), packed)
		}
		if back, err := wire.DecodeDelta(text, wire.DefaultLimits()); err != nil || len(back.Put) != slots || back.Seq != 2 {
			t.Errorf("%d slots are not read as they were: %v", slots, err)
		}
	}
}
