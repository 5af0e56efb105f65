package condor

import (
	"fmt"
	"path"
	"strings"

	"gridbroker/jdl/classad"
)

// budget counts bytes of text made.
type budget struct {
	left     int
	commands int // of the jobs so far
}

// value is a macro or command; ok is false when there is none of that name.
func (p *proc) value(name string) (s string, ok bool) {
	if s, ok = p.macros[name]; ok {
		return s, true
	}
	i, ok := p.index[name]
	if !ok {
		return "", false
	}
	return p.commands[i].value, true
}

// twoDollars is what the negotiator makes "$$" of, and replaces nothing else in.
const twoDollars = "$$(DOLLARDOLLAR)"

// expand replaces $(name), $(name:default) and $F(name). What is not set is
// empty, as for condor_submit.
func (p *proc) expand(s string, b *budget) (string, error) { return p.expandIn(s, b, 0) }

func (p *proc) expandIn(s string, b *budget, depth int) (string, error) {
	if depth > maxMacro {
		return "", fmt.Errorf("macros refer to each other in a circle")
	}
	var out strings.Builder
	for {
		i := strings.IndexByte(s, '$')
		made := i
		if i < 0 {
			made = len(s)
		}
		if b.left -= max(1, made); b.left < 0 {
			return "", fmt.Errorf("macros make more than %d MB", maxText>>20)
		}
		if i < 0 {
			out.WriteString(s)
			return out.String(), nil
		}
		out.WriteString(s[:i])
		s = s[i:]
		if fixed, rest, ok := fixedMacro(s); ok {
			out.WriteString(fixed)
			s = rest
			continue
		}
		if strings.HasPrefix(s, "$$(") && p.lets {
			late := lateMacro(s)
			out.WriteString(late)
			s = s[len(late):]
			continue
		}
		if strings.HasPrefix(s, "$$(") {
			return "", fmt.Errorf("%.40s: what is replaced at match time is not supported", s)
		}
		function, name, rest, ok := cutMacro(s)
		if !ok {
			out.WriteByte('$')
			s = s[1:]
			continue
		}
		text, err := p.macro(function, name, b, depth)
		if err != nil {
			return "", err
		}
		out.WriteString(text)
		s = rest
	}
}

// scratchDir is the directory in which the job starts.
const scratchDir = "$$(CondorScratchDir)"

// fixedMacro is what stands for the same in every job at the front of a text.
func fixedMacro(s string) (text, rest string, ok bool) {
	if rest, ok := strings.CutPrefix(s, twoDollars); ok {
		return "$$", rest, true
	}
	if len(s) >= len(scratchDir) && classad.EqualFold(s[:len(scratchDir)], scratchDir) {
		return ".", s[len(scratchDir):], true
	}
	return "", s, false
}

// lateMacro is what is replaced at match time at the front of a text, $$(NAME) or $$([EXPRESSION]), else its two dollars.
func lateMacro(s string) string {
	if _, _, rest, ok := cutMacro(s[1:]); ok {
		return s[:len(s)-len(rest)]
	}
	return s[:2]
}

// cutMacro takes "$F(name)" off the front.
func cutMacro(s string) (function, name, rest string, ok bool) {
	open := strings.IndexByte(s, '(')
	if open < 0 || strings.TrimLeftFunc(s[1:open], inMacroName) != "" {
		return "", "", "", false
	}
	depth := 0
	for i := open; i < len(s); i++ {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return s[1:open], s[open+1 : i], s[i+1:], true
			}
		}
	}
	return "", "", "", false
}

func (p *proc) macro(function, name string, b *budget, depth int) (string, error) {
	if work := functions[function]; work != nil {
		return p.call(work, function, name, b, depth)
	}
	name, def, hasDef := strings.Cut(name, ":")
	s, known := p.value(classad.Fold(strings.TrimSpace(name)))
	if !known && !hasDef && unknowable[classad.Fold(strings.TrimSpace(name))] {
		return "", fmt.Errorf("$(%s) is not supported: only the pool knows it", name)
	}
	if !known && hasDef {
		s = def
	}
	s, err := p.expandIn(s, b, depth+1)
	if err != nil {
		return "", err
	}
	switch {
	case function == "":
		return s, nil
	case function[0] == 'F':
		if !known && !hasDef {
			s = name
		}
		letters := function[1:]
		if whole := strings.ReplaceAll(letters, "f", ""); whole != letters {
			letters, s = whole, p.fullPath(unquoted(s))
		}
		if part, ok := filePart(letters, s); ok {
			return part, nil
		}
	}
	return "", fmt.Errorf("$%s(%s) is not supported", function, name)
}

// fullPath is a name from the root on, as f among the letters of $F asks for: written behind the directory of the
// description, with nothing in it resolved.
func (p *proc) fullPath(name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return strings.TrimSuffix(p.near.Path("."), "/") + "/" + name
}

// filePart is $Fpnx and the like: p the directories, d the last of them, dd the last two, n the name without and x its ending,
// with what lies between; b takes directories without their last / and an ending without its dot, qa quotes for arguments; q
// alone, with which lists of files mean other names, is left out. Letters that nobody here knows are not ok.
func filePart(letters, s string) (part string, ok bool) {
	s = unquoted(s)
	quote := ""
	if strings.Contains(letters, "q") && strings.Contains(letters, "a") {
		quote = "'"
	}
	asked := func(letter string) bool { return strings.Contains(letters, letter) }
	base := strings.LastIndexByte(s, '/') + 1
	ext := len(s) - len(path.Ext(s[base:]))
	if ext == base { // a name that begins with its only dot
		ext = len(s)
	}
	begin, end := 0, len(s)
	switch {
	case asked("d"):
		begin = lastDirectories(s[:base], strings.Count(letters, "d"))
	case asked("p"):
	case asked("n"):
		begin = base
	case asked("x"):
		begin = ext
	}
	switch {
	case asked("x"):
	case asked("n"):
		end = ext
	case asked("d"), asked("p"):
		end = base
	}
	part = s[begin:end]
	if asked("b") && end == base {
		part = strings.TrimSuffix(part, "/")
	}
	if asked("b") && begin == ext {
		part = strings.TrimPrefix(part, ".")
	}
	return quote + part + quote, strings.Trim(letters, "pdnxbqa") == ""
}

// lastDirectories is where the last n of "a/b/c/" begin.
func lastDirectories(dir string, n int) (begin int) {
	for begin = len(dir); n > 0 && begin > 0; n-- {
		begin = strings.LastIndexByte(dir[:begin-1], '/') + 1
	}
	return begin
}
