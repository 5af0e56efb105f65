package condor

import (
	"regexp"
	"strings"

	"gridbroker/jdl"
	"gridbroker/jdl/classad"
)

// maxDepth is how many texts may include each other.
const maxDepth = 8

// source is a text that is read line by line.
type source struct {
	name, src string
	lines     []string
	n         int // of the next line
	at        int // the line of the description that includes it
	odd       int // a line that is a comment and ends one that goes on
}

func newSource(name string, text []byte) *source {
	src := strings.TrimPrefix(string(text), "\xef\xbb\xbf")
	lines := strings.Split(src, "\n")
	if last := len(lines) - 1; last > 0 && lines[last] == "" {
		lines = lines[:last]
	}
	return &source{name: name, src: src, lines: lines}
}

// line is the next logical line, with the number of its first. As HTCondor reads them, a comment goes on in no other
// line, and one in the middle of a line that goes on is no part of it.
func (s *source) line() (text string, number int, ok bool) {
	if s.n >= len(s.lines) {
		return "", s.n, false
	}
	number = s.n + 1
	text = strings.TrimSuffix(s.lines[s.n], "\r")
	s.n++
	if comment := strings.TrimSpace(text); strings.HasPrefix(comment, "#") {
		return strings.TrimSpace(strings.TrimSuffix(comment, `\`)), number, true
	}
	for ; strings.HasSuffix(text, `\`) && s.n < len(s.lines); s.n++ {
		next := strings.TrimSpace(strings.TrimSuffix(s.lines[s.n], "\r"))
		if comment := strings.HasPrefix(next, "#"); comment && strings.HasSuffix(next, `\`) {
			continue
		} else if comment {
			s.odd = s.n + 1
		}
		text = strings.TrimSuffix(text, `\`) + next
	}
	return strings.TrimSpace(text), number, true
}

// next is the next logical line of the innermost text.
func (p *parser) next() (text string, number int, ok bool) {
	from := p.in[len(p.in)-1]
	text, number, ok = from.line()
	if from.odd > 0 {
		p.fail(from.odd, `end it with a \, or take it away`, "a comment ends the line that begins in line %d: HTCondor takes its text for a part of it", number)
	}
	return text, number, ok
}

// outerLine is the line of the description for one of the innermost text.
func (p *parser) outerLine(number int) int {
	if len(p.in) > 1 {
		return p.in[1].at
	}
	return number
}

// multiline takes "name @=tag" apart: the value ends at a line "@tag".
func multiline(text string) (name, tag string, ok bool) {
	name, tag, ok = strings.Cut(text, "@=")
	name, tag = strings.TrimSpace(name), strings.TrimSpace(tag)
	return name, tag, ok && tag != "" && !strings.ContainsAny(name, "= \t")
}

// block is the lines up to "@tag", joined by blanks: a value has one line here.
func (p *parser) block(tag string, number int) string {
	var lines []string
	for {
		line, _, ok := p.next()
		if !ok {
			break
		}
		if line == "@"+tag {
			return strings.Join(lines, " ")
		}
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	p.fail(number, "", "the value is not closed by @%s", tag)
	return ""
}

// include reads "include [ifexist] : FILE".
func (p *parser) include(text string, number int) {
	how, name, ok := strings.Cut(text, ":")
	how, name = classad.Fold(strings.TrimSpace(how)), strings.Trim(strings.TrimSpace(p.constant(name)), `"`)
	switch {
	case how == "command" || strings.HasSuffix(name, "|"):
		p.fail(number, "let it write a file and include that", "include of a program is not supported")
		return
	case !ok || name == "" || how != "" && how != "ifexist":
		p.fail(number, "include : FILE", "include is not understood")
		return
	}
	src, err := nearby(p, p.near, name, number)
	if err != nil {
		if how == "" {
			p.fail(number, "", "include %s: %v", name, err)
		}
		return
	}
	p.within(name, src, number, p.read)
}

// nearby reads what a line names, and tells where that is a secret: what of it comes into the jobs goes to their site.
func nearby(p *parser, near *jdl.Nearby, name string, number int) ([]byte, error) {
	src, private, err := near.Read(name)
	if err == nil && private != "" {
		p.tell(number, "%s is %s, which nobody but its owner may read: what the jobs have of it goes to their site", name, private)
	}
	return src, err
}

// costOfText is what it costs to include a text beside its length: texts of a few lines may include each other as often
// as they like.
const costOfText = 8 << 10

// within reads a text that a line includes.
func (p *parser) within(name string, src []byte, number int, read func()) {
	if len(p.in) > maxDepth {
		p.fail(number, "", "more than %d texts include each other", maxDepth)
		return
	}
	if p.left.left -= len(src) + costOfText; p.left.left < 0 {
		p.fail(number, "", "more than %d MB, or %d texts, are included", maxText>>20, maxText/costOfText)
		return
	}
	from := newSource(name, src)
	from.at = p.outerLine(number)
	p.in = append(p.in, from)
	read()
	p.in = p.in[:len(p.in)-1]
}

// branch is an if that is open.
type branch struct {
	outer, holds, done bool // the one around it holds; this branch does; one of its branches did
}

// condition reads if, elif, else and endif.
func (p *parser) condition(word, text string, number int) {
	last := len(p.ifs) - 1
	refer(p.about, text)
	if word != "if" && last < 0 {
		p.fail(number, "", "%s without an if", word)
		return
	}
	switch word {
	case "if":
		outer := last < 0 || p.ifs[last].holds
		holds := outer && p.holds(text, number)
		p.ifs = append(p.ifs, branch{outer, holds, holds})
	case "elif":
		b := &p.ifs[last]
		b.holds = b.outer && !b.done && p.holds(text, number)
		b.done = b.done || b.holds
	case "else":
		b := &p.ifs[last]
		b.holds, b.done = b.outer && !b.done, true
	case "endif":
		p.ifs = p.ifs[:last]
	}
}

// versionTest compares a version, of which two numbers are the least.
var versionTest = regexp.MustCompile(`^(?:[<>]=?|[!=]=|=)\s*[0-9]+(?:\.[0-9]+)+$`)

// holds judges a condition as condor_submit does: a truth, a number, defined NAME,
// version, with a ! before it.
func (p *parser) holds(text string, number int) bool {
	text, not := strings.CutPrefix(strings.TrimSpace(text), "!")
	word, rest := cutWord(text)
	switch classad.Fold(word) {
	case "defined":
		b := proc{sheet: p.sheet(), near: p.near}
		value, _ := b.value(classad.Fold(p.constant(rest)))
		return not != (value != "")
	case "version": // of HTCondor: a new one
		if !versionTest.MatchString(rest) {
			p.fail(number, "if version >= 8.9", "if %s is not understood", text)
		}
		return not != strings.HasPrefix(rest, ">")
	}
	switch value := classad.Fold(strings.TrimSpace(p.constant(text))); value {
	case "true", "yes", "t", "y":
		return !not
	case "false", "no", "f", "n", "":
		return not
	default:
		if n, ok := arithmetic(value); ok {
			return not != (n != 0)
		}
		p.fail(number, "a truth, a number, defined NAME", "if %s is not supported", text)
		return false
	}
}
