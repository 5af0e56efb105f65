package condor

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"gridbroker/jdl/classad"
)

// pins are the nodes of a splice by the numbers under which it is joined to another one.
type pins map[int][]*dagNode

// maxPin bounds the number of a pin.
const maxPin = 100_000

func pinIn(d *dagReader, rest string, line int)  { pin(d, "PIN_IN", &d.entries, rest, line) }
func pinOut(d *dagReader, rest string, line int) { pin(d, "PIN_OUT", &d.exits, rest, line) }

// pin reads "PIN_IN node number".
func pin(d *dagReader, word string, at *pins, rest string, line int) {
	words := strings.Fields(rest)
	if len(words) != 2 {
		d.fail(line, word+" node number", "%s is not understood", word)
		return
	}
	number, err := strconv.Atoi(words[1])
	if err != nil || number < 1 || number > maxPin {
		d.fail(line, "pins count from 1", "%s: %s is no number of a pin", word, words[1])
		return
	}
	n := d.node(words[0], line)
	if n == nil {
		return
	}
	if *at == nil {
		*at = pins{}
	}
	if !slices.Contains((*at)[number], n) {
		(*at)[number] = append((*at)[number], n)
	}
}

// connect reads "CONNECT splice splice": what is at an outgoing pin of the one comes
// before what is at the same incoming pin of the other.
func connect(d *dagReader, rest string, line int) {
	words := strings.Fields(rest)
	if len(words) != 2 {
		d.fail(line, "CONNECT splice splice", "CONNECT is not understood")
		return
	}
	from, to := spliceOf(d, words[0], line), spliceOf(d, words[1], line)
	if d.err != nil {
		return
	}
	if !counted(d, words[0], "PIN_OUT", from.exits, line) || !counted(d, words[1], "PIN_IN", to.entries, line) {
		return
	}
	if len(from.exits) != len(to.entries) {
		d.fail(line, "", "CONNECT: %s has %d outgoing pins and %s has %d incoming ones", words[0], len(from.exits), words[1], len(to.entries))
		return
	}
	for number := 1; number <= len(to.entries); number++ {
		comesBefore(d, from.exits[number], to.entries[number], line)
	}
	for _, n := range to.nodes {
		if len(n.parents) == 0 {
			d.fail(line, "give it a PIN_IN, or name it as a CHILD", "CONNECT: node %s of splice %s comes after nothing", n.name, words[1])
			return
		}
	}
}

// spliceOf is that of a name.
func spliceOf(d *dagReader, name string, line int) *dagFile {
	f := d.splices[name]
	if f == nil {
		d.fail(line, classad.DidYouMean(name, slices.Sorted(maps.Keys(d.splices))), "CONNECT: no SPLICE is called %s", name)
	}
	return f
}

// counted reports whether pins are numbered without a gap.
func counted(d *dagReader, splice, word string, at pins, line int) bool {
	for number := 1; number <= len(at); number++ {
		if at[number] == nil {
			d.fail(line, "", "CONNECT: splice %s has no %s %d", splice, word, number)
			return false
		}
	}
	if len(at) == 0 {
		d.fail(line, "", "CONNECT: splice %s has no %s", splice, word)
	}
	return d.err == nil
}
