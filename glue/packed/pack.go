package packed

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
	"time"
	"unsafe"
)

// packer writes values; what an unpacker reads.
type packer struct {
	w       io.Writer
	err     error // of writing
	buf     []byte
	sum     uint32
	strings map[string]uint64
	recent  [recentTexts]recentText
	shared  map[sharedKey]uint64
}

// sharedKey names a list or map by where it lies.
type sharedKey struct {
	at  unsafe.Pointer
	len int
}

// recentTexts is of how many texts it is known where they lie: most texts of a
// resource are those of the one before.
const recentTexts = 1 << 10

// recentText is a text that lies somewhere, and its number.
type recentText struct {
	sharedKey
	number uint64
}

// packBuffer is how much is written at once.
const packBuffer = 64 << 10

// flush writes what there is.
func (p *packer) flush() {
	p.sum = crc32.Update(p.sum, crc32.IEEETable, p.buf)
	if p.err == nil {
		_, p.err = p.w.Write(p.buf)
	}
	p.buf = p.buf[:0]
}

func (p *packer) uint(n uint64)  { p.buf = binary.AppendUvarint(p.buf, n) }
func (p *packer) int(n int64)    { p.buf = binary.AppendVarint(p.buf, n) }
func (p *packer) real(f float64) { p.uint(math.Float64bits(f)) }

func (p *packer) flag(b bool) {
	n := byte(0)
	if b {
		n = 1
	}
	p.buf = append(p.buf, n)
}

// time writes Unix nanoseconds, 0 for the zero time.
func (p *packer) time(t time.Time) {
	if t.IsZero() {
		p.int(0)
	} else {
		p.int(t.UnixNano())
	}
}

// text writes a string the first time, later its number.
func (p *packer) text(s string) {
	at := sharedKey{unsafe.Pointer(unsafe.StringData(s)), len(s)}
	known := &p.recent[(uintptr(at.at)>>4^uintptr(at.len))%recentTexts]
	if known.number > 0 && known.sharedKey == at {
		p.uint(known.number)
		return
	}
	n, ok := p.strings[s]
	if !ok {
		n = uint64(len(p.strings)) + 1
		p.strings[s] = n
	}
	if *known = (recentText{at, n}); ok {
		p.uint(n)
		return
	}
	p.uint(0)
	p.uint(uint64(len(s)))
	p.buf = append(p.buf, s...)
}

// share begins a list or map of n elements and reports whether nothing else is
// to be written: 0 stands for nil, 1 for what follows after n, more for the
// number of one written before.
func (p *packer) share(at unsafe.Pointer, n int, none bool) (done bool) {
	if none {
		p.uint(0)
		return true
	}
	k := sharedKey{at, n}
	if num, ok := p.shared[k]; ok && n > 0 {
		p.uint(num)
		return true
	}
	p.uint(1)
	p.uint(uint64(n))
	if n > 0 {
		p.shared[k] = uint64(len(p.shared)) + 2
	}
	return false
}
