package glue

import "hash/maphash"

// pool keeps one copy of strings that occur again and again. It is a table of them by
// their hash, in half of the memory that a map takes. The zero pool is empty.
type pool struct {
	seed    maphash.Seed
	strings []string // its length is a power of two; "" is a free place
	hashes  []uint32 // parts of their hashes, to compare before the texts
	n       int
	bytes   int
}

const firstPool = 64

// str is a string of these bytes.
func (p *pool) str(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if 4*p.n >= 3*len(p.strings) {
		p.grow()
	}
	hash := maphash.Bytes(p.seed, b)
	mask := len(p.strings) - 1
	at := int(hash) & mask
	for ; p.strings[at] != ""; at = (at + 1) & mask {
		if p.hashes[at] == uint32(hash>>32) && p.strings[at] == string(b) {
			return p.strings[at]
		}
	}
	s := string(b)
	p.strings[at], p.hashes[at] = s, uint32(hash>>32)
	p.n++
	p.bytes += len(s) + pooledCost
	return s
}

// grow doubles the table.
func (p *pool) grow() {
	old := p.strings
	if old == nil {
		p.seed = maphash.MakeSeed()
	}
	size := max(firstPool, 2*len(old))
	p.strings, p.hashes = make([]string, size), make([]uint32, size)
	for _, s := range old {
		if s == "" {
			continue
		}
		hash := maphash.String(p.seed, s)
		at := int(hash) & (size - 1)
		for p.strings[at] != "" {
			at = (at + 1) & (size - 1)
		}
		p.strings[at], p.hashes[at] = s, uint32(hash>>32)
	}
}
