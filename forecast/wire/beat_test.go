package wire

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"testing"
)

// A mark is the hash that agents and schedulers of before work out, too, and a digest is written as they do.
func TestMarksAndDigestsStay(t *testing.T) {
	for _, key := range []string{"", "a", "j0123-1", "\xff\x00"} {
		for _, to := range []int64{0, 1, 1_800_000_000, -1} {
			for running, last := range map[bool]byte{false: 0, true: 1} {
				h := fnv.New64a()
				h.Write(append(binary.LittleEndian.AppendUint64([]byte(key), uint64(to)), last))
				if is := MarkOne(key, to, running); uint64(is) != h.Sum64() {
					t.Errorf("%q, %d, %v: %x, want %x", key, to, running, is, h.Sum64())
				}
			}
		}
	}
	if h := (hash{0xab, 1 << 63}); h.String() != fmt.Sprintf("%016x%016x", h.high, h.low) {
		t.Errorf("digest %s", h)
	}
}
