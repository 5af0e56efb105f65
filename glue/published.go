package glue

import (
	"encoding/binary"
	"maps"
	"slices"
)

// published is what an entry said of attributes that are of use, kept as text
// until it is known what the entry belongs to: for each value the attribute's
// number, its length and itself. A share takes a third of the memory that its
// Resource takes, and the garbage collector passes it by.
type published []byte

// part is an entry that waits for what it belongs to.
type part struct {
	key  key
	text published
}

// store is where published texts lie, many in one stretch of memory.
type store struct {
	last  []byte
	bytes int
}

const storeChunk = 64 << 10

func (s *store) keep(text []byte) published {
	if cap(s.last)-len(s.last) < len(text) {
		s.last = make([]byte, 0, max(storeChunk, len(text)))
	}
	at := len(s.last)
	s.bytes += len(text)
	s.last = append(s.last, text...)
	return published(s.last[at:len(s.last):len(s.last)])
}

// numbered is a table of setters whose attributes have numbers. Those that a
// caller asks for besides come behind them.
type numbered[T any] struct {
	number map[string]int
	set    []setter[T]
}

func numberOf[T any](table setters[T]) *numbered[T] {
	t := &numbered[T]{number: map[string]int{}}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if set := table[name]; set != nil {
			t.number[name] = len(t.set)
			t.set = append(t.set, set)
		}
	}
	return t
}

// keep writes down what e says of the table's attributes and of the extra ones.
func (t *numbered[T]) keep(d *Decoder, e *Entry) published {
	var buf [64]byte
	var room [1 << 10]byte
	text := room[:0]
	for i := range e.Attrs {
		a := &e.Attrs[i]
		if len(a.Name) > len(buf) {
			continue
		}
		name := lowerInto(buf[:0], a.Name)
		if n, ok := t.number[string(name)]; ok {
			for _, v := range a.Values {
				if len(v) <= maxValue {
					text = appendValue(text, n, v)
				}
			}
		}
		if n := d.extraNumber(name); n >= 0 {
			for _, v := range a.Values {
				text = appendValue(text, len(t.set)+n, v)
			}
		}
	}
	return d.store.keep(text)
}

func appendValue(text []byte, number int, v []byte) []byte {
	text = binary.AppendUvarint(text, uint64(number))
	text = binary.AppendUvarint(text, uint64(len(v)))
	return append(text, v...)
}

// apply runs the setters over what keep wrote.
func (t *numbered[T]) apply(d *Decoder, x *T, text published, attrs *map[string][]string) {
	text.each(func(number int, v []byte) {
		if number < len(t.set) {
			t.set[number](d, x, v)
		} else {
			d.keepExtra(attrs, number-len(t.set), v)
		}
	})
}

// each goes through the values and the numbers of their attributes.
func (text published) each(do func(number int, v []byte)) {
	for len(text) > 0 {
		number, n := binary.Uvarint(text)
		size, m := binary.Uvarint(text[n:])
		do(int(number), text[n+m:][:size])
		text = text[n+m+int(size):]
	}
}
