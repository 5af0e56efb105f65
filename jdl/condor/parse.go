// Package condor reads and writes HTCondor's submit descriptions: commands
// "name = value", macros $(name) and queue statements (condor_submit(1)).
package condor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gridbroker/jdl"
	"gridbroker/jdl/classad"
)

// Bounds of one description.
const (
	maxProcs = 100_000
	maxText  = 16 << 20 // bytes of all values together, macros replaced
	maxMacro = 30       // macros inside macros

	costOfCommand = 12        // bytes of maxText for each that is set where a queue statement or a condition looks at them
	maxCommands   = 3_000_000 // of all jobs together, beyond the first of each
	freeCommands  = 30        // of each job
	costOfEntry   = 6         // commands that a file, a variable or a command which is only kept counts for
	freeEntries   = 6         // of each kind, of each job
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
	about    map[string]bool // names that statements of the whole description refer to
}

func newSheet(commands []command, about map[string]bool) *sheet {
	s := &sheet{commands, make(map[string]int, len(commands)), map[string]bool{}, about}
	for i, c := range commands {
		s.index[c.name] = i
		refer(s.used, c.value)
	}
	return s
}

// refer notes the names that a text refers to.
func refer(used map[string]bool, text string) {
	for _, part := range strings.Split(text, "$")[1:] {
		if _, name, ok := strings.Cut(part, "("); ok {
			name, _, _ = strings.Cut(name, ")")
			name, _, _ = strings.Cut(name, ":")
			for arg := range strings.SplitSeq(name, ",") { // of a function
				used[classad.Fold(strings.TrimSpace(arg))] = true
			}
		}
	}
}

// proc is one job.
type proc struct {
	*sheet
	macros map[string]string
	pos    classad.Pos
	near   *jdl.Nearby
	asked  []string // variables of whoever submits that $ENV took
	lets   bool     // what is replaced at match time stays as it is
}

// command is a command of the job; a variable of its queue statement stands in the place of one of its name.
func (p *proc) command(name string) (command, bool) {
	if value, ok := p.macros[name]; ok {
		return command{name, value, p.pos}, true
	}
	i, ok := p.index[name]
	if !ok {
		return command{}, false
	}
	return p.commands[i], true
}

type parser struct {
	text      *source   // of the description itself
	in        []*source // where the next line comes from, the innermost last
	near      *jdl.Nearby
	ifs       []branch
	about     map[string]bool // names that conditions and queue statements refer to
	set       []command       // one that was set again has no name in its first place
	at        map[string]int  // their places by name
	now       *sheet          // of them; nil where one was set since
	procs     []proc
	queued    bool      // there was a queue statement
	program   string    // its executable, macros not replaced
	cluster   int       // its jobs are of this cluster
	first     int       // which begins with this of procs
	empty     bool      // a queue statement made no job
	unmatched string    // a pattern that no file matches
	late      []command // set at each queue statement
	left      budget    // for what macros make outside of commands
	told      int       // warnings
	warn      func(*classad.Diagnostic)
	err       error
}

// maxTold bounds the warnings of a text: to find the line of each takes as long as the text is.
const maxTold = 200

func (p *parser) diagnostic(severity classad.Severity, line int, hint, format string, args ...any) *classad.Diagnostic {
	from := p.in[len(p.in)-1]
	return (&classad.Diagnostic{Severity: severity, File: from.name, Pos: classad.Pos{Line: line, Col: 1}, Code: "condor",
		Msg: fmt.Sprintf(format, args...), Hint: hint}).ShowLine(from.src)
}

func (p *parser) fail(line int, hint, format string, args ...any) {
	if p.err == nil {
		p.err = p.diagnostic(classad.Fatal, line, hint, format, args...)
	}
}

func (p *parser) tell(line int, format string, args ...any) {
	if p.told++; p.warn != nil && p.told <= maxTold {
		p.warn(p.diagnostic(classad.Warning, line, "", format, args...))
	}
}

// newParser reads the last of some texts, of which the first is the description's.
func newParser(near *jdl.Nearby, warn func(*classad.Diagnostic), in ...*source) *parser {
	return &parser{text: in[0], in: in, near: near, left: budget{left: maxText}, warn: warn, about: map[string]bool{}, at: map[string]int{}}
}

func parse(file string, src []byte, near *jdl.Nearby, warn func(*classad.Diagnostic)) ([]proc, error) {
	text := newSource(file, src)
	p := newParser(near, warn, text)
	p.read()
	switch {
	case p.err != nil:
	case len(p.procs) == 0 && p.empty:
		why := ""
		if p.unmatched != "" {
			why = ": no file matches " + p.unmatched
		}
		p.fail(max(1, len(text.lines)), "", "the queue statements make no job%s", why)
	case len(p.procs) == 0:
		p.fail(max(1, len(text.lines)), "queue", "the description has no queue statement")
	}
	return p.procs, p.err
}

// read takes the statements of the innermost text, to its end.
func (p *parser) read() {
	from, open := p.in[len(p.in)-1], len(p.ifs)
	if i := strings.IndexByte(from.src, 0); i >= 0 {
		p.fail(1+strings.Count(from.src[:i], "\n"), "", "NUL byte in the text")
	}
	for p.err == nil {
		text, number, ok := p.next()
		if !ok {
			break
		}
		if p.statement(text, number); p.left.left < 0 {
			p.fail(number, "", "what the statements make of each other is more than %d MB", maxText>>20)
		}
	}
	if len(p.ifs) > open {
		p.fail(max(1, len(from.lines)), "endif", "an if has no endif")
	}
}

func (p *parser) statement(text string, number int) {
	word, rest := cutWord(text)
	if word, _, _ = strings.Cut(classad.Fold(word), ":"); text == "" || text[0] == '#' {
		return
	}
	switch {
	case word == "if" || word == "elif" || word == "else" || word == "endif":
		p.condition(word, rest, number)
	case len(p.ifs) > 0 && !p.ifs[len(p.ifs)-1].holds:
		if _, tag, ok := multiline(text); ok {
			p.block(tag, number)
		}
	case word == "queue" && !strings.HasPrefix(rest, "="):
		p.queue(rest, number)
	case word == "include" || word == "@include":
		p.include(strings.TrimSpace(text[len(word):]), number)
	case (word == "error" || word == "warning") && says(text) != "":
		if word == "error" {
			p.fail(number, "", "the description says: %s", says(text))
		} else {
			p.tell(number, "%s", says(text))
		}
	case word == "use" && !strings.HasPrefix(rest, "="):
		p.fail(number, "", "use is not supported: what it stands for is in the pool's configuration")
	default:
		p.assign(text, number)
	}
}

// says is the text of the statements "error : text" and "warning : text"; "" of others.
func says(text string) string {
	before, after, ok := strings.Cut(text, ":")
	if !ok || strings.Contains(before, "=") {
		return ""
	}
	return strings.TrimSpace(after)
}

func (p *parser) assign(text string, number int) {
	name, value, ok := strings.Cut(text, "=")
	if before, tag, several := multiline(text); several {
		name, value, ok = before, p.block(tag, number), true
	}
	name = classad.Fold(strings.TrimSpace(name))
	if !ok || name == "" || strings.ContainsAny(name, " \t") {
		p.fail(number, "", "expected name = value or queue")
		return
	}
	if own, isOwn := strings.CutPrefix(name, "my."); isOwn {
		name = "+" + own
	}
	// A position is one of the description, also for what an included text says.
	p.put(command{name, strings.TrimSpace(value), classad.Pos{Line: p.outerLine(number), Col: 1}})
}

// put sets a command, behind all that were set before.
func (p *parser) put(c command) {
	if p.now != nil { // whose own these are
		p.set, p.at, p.now = slices.Clone(p.set), maps.Clone(p.now.index), nil
	}
	before := command{name: c.name}
	if i, again := p.at[c.name]; again {
		before, p.set[i] = p.set[i], command{}
	}
	c.value = p.own(c.value, before)
	p.at[c.name] = len(p.set)
	p.set = append(p.set, c)
}

// sheet is the commands that are set so far.
func (p *parser) sheet() *sheet {
	if p.now == nil {
		p.set = slices.DeleteFunc(p.set, func(c command) bool { return c.name == "" })
		p.now = newSheet(p.set, p.about)
		p.left.left -= costOfCommand * len(p.set)
	}
	return p.now
}

// own replaces $(name) in the value of that name by its value so far.
func (p *parser) own(value string, before command) string {
	var out strings.Builder
	for {
		i := strings.IndexByte(value, '$')
		if i < 0 {
			out.WriteString(value)
			return out.String()
		}
		out.WriteString(value[:i])
		value = value[i:]
		function, name, rest, ok := cutMacro(value)
		name, def, _ := strings.Cut(name, ":")
		if !ok || function != "" || classad.Fold(strings.TrimSpace(name)) != before.name {
			out.WriteByte('$')
			value = value[1:]
			continue
		}
		if before.value != "" {
			def = before.value
		}
		if p.left.left -= len(def); p.left.left < 0 {
			p.fail(before.pos.Line, "", "macros make more than %d MB", maxText>>20)
			return ""
		}
		out.WriteString(def)
		value = rest
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
