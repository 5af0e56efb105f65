package glue

import (
	"hash/maphash"
	"slices"
)

// lists keeps one copy of lists of texts that occur again and again: the access
// rules of a site's queues are mostly alike.
type lists struct {
	of   map[uint64][]string // by a hash of the texts, which are kept once, in the lists
	hash maphash.Hash
}

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
	if !ok { // of two with one hash, the first
		if l.of == nil {
			l.of = map[uint64][]string{}
		}
		l.of[sum] = own
	}
	return own
}
