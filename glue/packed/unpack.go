package packed

import (
	"encoding/binary"
	"math"
	"time"
	"unsafe"
)

// unpacker reads what a packer wrote. After bad is set it gives zeros.
type unpacker struct {
	data    []byte
	strings []string
	shared  []any
	bad     bool
}

func (u *unpacker) uint() uint64 {
	if len(u.data) > 0 && u.data[0] < 0x80 { // most
		n := uint64(u.data[0])
		u.data = u.data[1:]
		return n
	}
	n, size := binary.Uvarint(u.data)
	if size <= 0 {
		u.bad = true
		return 0
	}
	u.data = u.data[size:]
	return n
}

func (u *unpacker) int() int64 {
	n, size := binary.Varint(u.data)
	if size <= 0 {
		u.bad = true
		return 0
	}
	u.data = u.data[size:]
	return n
}

func (u *unpacker) real() float64 { return math.Float64frombits(u.uint()) }

func (u *unpacker) time() time.Time {
	if n := u.int(); n != 0 {
		return time.Unix(0, n).UTC()
	}
	return time.Time{}
}

// count reads a number of things of at least size bytes each.
func (u *unpacker) count(size int) int {
	n := u.uint()
	if n > uint64(len(u.data)/size) {
		u.bad = true
		return 0
	}
	return int(n)
}

func (u *unpacker) flag() bool {
	if len(u.data) == 0 {
		u.bad = true
		return false
	}
	b := u.data[0]
	u.data = u.data[1:]
	return b == 1
}

// text returns a string that lies in the data itself.
func (u *unpacker) text() string {
	if n := u.uint(); n > 0 {
		if n > uint64(len(u.strings)) {
			u.bad = true
			return ""
		}
		return u.strings[n-1]
	}
	n := u.count(1)
	s := unsafe.String(unsafe.SliceData(u.data), n)
	u.data = u.data[n:]
	u.strings = append(u.strings, s)
	return s
}

// share begins a list or map: one read before, or how many elements follow;
// below 0 for nil.
func (u *unpacker) share() (old any, n int) {
	switch num := u.uint(); {
	case num == 0:
		return nil, -1
	case num == 1:
		return nil, u.count(1)
	case num-2 < uint64(len(u.shared)):
		return u.shared[num-2], 0
	}
	u.bad = true
	return nil, -1
}

// reserve numbers a list or map of n elements before those are read: they may
// hold lists themselves.
func (u *unpacker) reserve(n int) int {
	if n == 0 {
		return -1 // empty ones are not numbered
	}
	u.shared = append(u.shared, nil)
	return len(u.shared) - 1
}

func (u *unpacker) keep(at int, v any) {
	if at >= 0 {
		u.shared[at] = v
	}
}
