package glue

import (
	"hash/maphash"
	"slices"
)

// lists keeps one copy of lists of texts that occur again and again: the access
// rules of a site's queues are mostly alike.
type lists struct {
	of    map[uint64][]string // by a hash of the texts, which are kept once, in the lists
	hash  maphash.Hash
	bytes int // that the lists take, without their texts
}

// What a text takes beside its letters, in bytes: where it stands in a list, and in the pool.
const (
	listedCost = 16
	pooledCost = 24
)

// one is a list that is equal to this one, and the same for all that are: nothing
// may be written to it. There is no room behind it, so what is appended goes to a
// list of its own.
func (l *lists) one(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	l.hash.Reset()
	for _, s := range list {
		l.hash.WriteString(s)
		l.hash.WriteByte(0)
	}
	sum := l.hash.Sum64()
	have, ok := l.of[sum]
	if ok && slices.Equal(have, list) {
		return have
	}
	own := slices.Clip(slices.Clone(list))
	l.bytes += listedCost * len(own)
	if !ok { // of two with one hash, the first
		if l.of == nil {
			l.of = map[uint64][]string{}
		}
		l.of[sum] = own
	}
	return own
}

// longer is a list that is no other's with more texts behind it.
func (l *lists) longer(list, more []string) []string {
	l.bytes += listedCost * len(more)
	return append(list, more...)
}
