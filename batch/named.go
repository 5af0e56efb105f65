package batch

import "strings"

// named numbers the lists of nodes that jobs name. Jobs may share a list of very many.
type named struct {
	known  map[lists]int
	number numbers[string]
}

// lists are those of one job, by where they lie.
type lists struct{ within, without list }

type list struct {
	first *string
	n     int
}

func listAt(names []string) list {
	if len(names) == 0 {
		return list{}
	}
	return list{&names[0], len(names)}
}

// mostKnown bounds how many lists are known by where they lie.
const mostKnown = 1024

// of is the number of a job's lists; 0: it names no nodes.
func (n *named) of(j *Job) int {
	l := lists{listAt(j.Within), listAt(j.Without)}
	if l == (lists{}) {
		return 0
	}
	k, ok := n.known[l]
	if !ok {
		if len(n.known) >= mostKnown || n.known == nil {
			n.known = map[lists]int{}
		}
		k = n.number.of(strings.Join(j.Within, "\x00") + "\x01" + strings.Join(j.Without, "\x00"))
		n.known[l] = k
	}
	return k
}

// named tells which nodes those that a job names leave it; nil: all.
func (n *upNodes) named(j *Job) []bool {
	if len(j.Within)+len(j.Without) == 0 {
		return nil
	}
	in := make(map[string]bool, len(j.Within)+len(j.Without))
	for _, name := range j.Within {
		in[name] = true
	}
	for _, name := range j.Without {
		in[name] = false
	}
	left := make([]bool, len(n.up))
	for i := range left {
		yes, told := in[n.at(i).Name]
		left[i] = yes || !told && len(j.Within) == 0
	}
	return left
}
