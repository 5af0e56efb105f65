package glue

import "slices"

// lists keeps one copy of lists of texts that occur again and again: the access
// rules of a site's queues are mostly alike.
type lists struct {
	of   map[string][]string
	room []byte
}

// one is a list that is equal to this one, and the same for all that are: nothing
// may be written to it. There is no room behind it, so what is appended goes to a
// list of its own.
func (l *lists) one(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	l.room = l.room[:0]
	for _, s := range list {
		l.room = append(append(l.room, s...), 0)
	}
	if len(l.room) > maxListText {
		return slices.Clone(list)
	}
	have, ok := l.of[string(l.room)]
	if ok && slices.Equal(have, list) { // texts may hold what is between them
		return have
	}
	if have = slices.Clip(slices.Clone(list)); !ok {
		if l.of == nil {
			l.of = map[string][]string{}
		}
		l.of[string(l.room)] = have
	}
	return have
}

// maxListText bounds the text of a list that is compared with others: each is
// kept twice.
const maxListText = 4 << 10
