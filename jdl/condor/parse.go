// Package condor reads and writes HTCondor's submit descriptions: commands
// "name = value", macros $(name) and queue statements (condor_submit(1)).
package condor

import (
	"fmt"
	"strconv"
	"strings"

	"gridbroker/jdl/classad"
)

// Bounds of one description.
const (
	maxProcs = 100_000
	maxText  = 16 << 20 // bytes of all values together, macros replaced
	maxMacro = 30       // macros inside macros
)

// command is "name = value", the name in lower case.
type command struct {
	name, value string
	pos         classad.Pos
}

// sheet is the commands that hold at a queue statement.
type sheet struct {
	commands []command
	index    map[string]int  // places of commands by name
	used     map[string]bool // names that other commands refer to
}

func newSheet(commands []command) *sheet {
	s := &sheet{commands, map[string]int{}, map[string]bool{}}
	for i, c := range commands {
		s.index[c.name] = i
		for _, part := range strings.Split(c.value, "$")[1:] {
			if _, name, ok := strings.Cut(part, "("); ok {
				name, _, _ = strings.Cut(name, ")")
				name, _, _ = strings.Cut(name, ":")
				s.used[classad.Fold(strings.TrimSpace(name))] = true
			}
		}
	}
	return s
}

// proc is one job.
type proc struct {
	*sheet
	macros map[string]string
	pos    classad.Pos
}

type parser struct {
	file, src string
	lines     []string
	n         int // of the next line
	set       []command
	procs     []proc
	left      budget // for what macros make in queue statements
	err       error
}

func (p *parser) fail(line int, hint, format string, args ...any) {
	if p.err == nil {
		p.err = (&classad.Diagnostic{Severity: classad.Fatal, File: p.file, Pos: classad.Pos{Line: line, Col: 1}, Code: "condor",
			Msg: fmt.Sprintf(format, args...), Hint: hint}).ShowLine(p.src)
	}
}

// line is the next logical line, with the number of its first.
func (p *parser) line() (text string, number int, ok bool) {
	if p.n >= len(p.lines) || p.err != nil {
		return "", p.n, false
	}
	number = p.n + 1
	text = strings.TrimSuffix(p.lines[p.n], "\r")
	for p.n++; strings.HasSuffix(text, `\`) && p.n < len(p.lines); p.n++ {
		text = strings.TrimSuffix(text, `\`) + strings.TrimSpace(strings.TrimSuffix(p.lines[p.n], "\r"))
	}
	return strings.TrimSpace(text), number, true
}

func parse(file string, src []byte) ([]proc, error) {
	p := &parser{file: file, src: string(src), lines: strings.Split(string(src), "\n"), left: budget{maxText}}
	if i := strings.IndexByte(p.src, 0); i >= 0 {
		p.fail(1+strings.Count(p.src[:i], "\n"), "", "NUL byte in the text")
	}
	for {
		text, number, ok := p.line()
		if !ok {
			break
		}
		p.statement(text, number)
	}
	if p.err == nil && len(p.procs) == 0 {
		p.fail(max(1, len(p.lines)), "queue", "the description has no queue statement")
	}
	return p.procs, p.err
}

func (p *parser) statement(text string, number int) {
	word, rest := cutWord(text)
	switch low := classad.Fold(word); {
	case text == "" || text[0] == '#':
	case low == "queue" && !strings.HasPrefix(rest, "="):
		p.queue(rest, number)
	case low == "if" || low == "elif" || low == "else" || low == "endif" || low == "include" || low == "use":
		p.fail(number, "", "%s is not supported", low)
	default:
		p.assign(text, number)
	}
}

func (p *parser) assign(text string, number int) {
	name, value, ok := strings.Cut(text, "=")
	name = classad.Fold(strings.TrimSpace(name))
	if !ok || name == "" || strings.ContainsAny(name, " \t") {
		p.fail(number, "", "expected name = value or queue")
		return
	}
	if own, isOwn := strings.CutPrefix(name, "my."); isOwn {
		name = "+" + own
	}
	c := command{name, strings.TrimSpace(value), classad.Pos{Line: number, Col: 1}}
	for i := range p.set {
		if p.set[i].name == name {
			p.set = append(append(append([]command(nil), p.set[:i]...), p.set[i+1:]...), c)
			return
		}
	}
	p.set = append(p.set[:len(p.set):len(p.set)], c)
}

// queue reads "queue [N] [names] [in|from (items)]".
func (p *parser) queue(text string, number int) {
	count := 1
	word, rest := cutWord(text)
	if n, err := strconv.Atoi(p.constant(word)); err == nil {
		if count, text = n, rest; n < 0 {
			p.fail(number, "", "queue %d", n)
		}
	}
	names, how, items := cutItems(text)
	if strings.TrimSpace(text) != "" && how == "" {
		p.fail(number, "queue 10; queue x in (a, b); queue x, y from ( ... )", "queue %s is not understood", text)
		return
	}
	if how == "matching" || how != "" && !strings.HasPrefix(items, "(") {
		p.fail(number, "write the items into the description: queue x "+orIn(how)+" ( ... )", "queue %s with a list outside of the description is not supported", how)
		return
	}
	if how == "" {
		p.add(newSheet(p.set), count, nil, nil, number)
		return
	}
	if len(names) == 0 {
		names = []string{"item"}
	}
	sheet := newSheet(p.set)
	for row, item := range p.items(how, strings.TrimPrefix(items, "("), number) {
		values := []string{item}
		if how == "from" {
			values = cells(item, len(names))
		}
		p.add(sheet, count, names, append(values, strconv.Itoa(row)), number)
	}
}

func orIn(how string) string {
	if how == "from" {
		return how
	}
	return "in"
}

// constant replaces macros that are set so far.
func (p *parser) constant(s string) string {
	b := proc{sheet: newSheet(p.set)}
	out, err := b.expand(s, &p.left)
	if err != nil {
		return s
	}
	return out
}

// cutItems takes "x, y in (a b" apart.
func cutItems(text string) (names []string, how, items string) {
	rest := text
	for rest != "" {
		word, after := cutWord(rest)
		switch low := classad.Fold(strings.Trim(word, ",")); low {
		case "in", "from", "matching":
			return names, low, after
		case "":
		default:
			if i := strings.IndexByte(word, '('); i > 0 && orFrom(word[:i]) {
				return names, classad.Fold(word[:i]), word[i:] + " " + after
			}
			names = append(names, strings.Split(low, ",")...)
		}
		rest = after
	}
	return names, "", ""
}

func orFrom(s string) bool { return classad.EqualFold(s, "in") || classad.EqualFold(s, "from") }

// items reads the list of a queue statement, which ends at ")".
func (p *parser) items(how, first string, number int) []string {
	var rows []string
	text, closed := strings.CutSuffix(strings.TrimSpace(first), ")")
	for {
		if how == "from" {
			if text != "" {
				rows = append(rows, text)
			}
		} else {
			rows = append(rows, strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })...)
		}
		if closed || len(rows) > maxProcs {
			return rows
		}
		line, _, ok := p.line()
		if !ok {
			p.fail(number, "", "the list of queue is not closed by )")
			return nil
		}
		text, closed = line, line == ")"
		if closed || strings.HasPrefix(line, "#") {
			text = ""
		}
		if how == "in" && !closed {
			text, closed = strings.CutSuffix(text, ")")
		}
	}
}

// cells are the values of a row: they end at a blank or comma, the last takes
// the rest.
func cells(row string, n int) []string {
	out := make([]string, 0, n)
	for len(out) < n-1 {
		row = strings.TrimLeft(row, " \t,")
		i := strings.IndexAny(row, " \t,")
		if i < 0 {
			break
		}
		out, row = append(out, row[:i]), row[i:]
	}
	out = append(out, strings.Trim(row, " \t,"))
	for len(out) < n {
		out = append(out, "")
	}
	return out
}

// add queues jobs; the last of values is the number of the row.
func (p *parser) add(sheet *sheet, count int, names, values []string, number int) {
	for step := range count {
		if len(p.procs) >= maxProcs {
			p.fail(number, "", "more than %d jobs", maxProcs)
			return
		}
		n := strconv.Itoa(len(p.procs))
		m := map[string]string{"process": n, "procid": n, "cluster": "0", "clusterid": "0", "step": strconv.Itoa(step), "dollar": "$", "itemindex": "0", "row": "0"}
		for i, name := range names {
			m[name] = values[i]
		}
		if len(values) > 0 {
			m["itemindex"] = values[len(values)-1]
			m["row"] = m["itemindex"]
		}
		p.procs = append(p.procs, proc{sheet, m, classad.Pos{Line: number, Col: 1}})
	}
}

func cutWord(s string) (word, rest string) {
	s = strings.TrimSpace(s)
	i := strings.IndexAny(s, " \t")
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimSpace(s[i:])
}
