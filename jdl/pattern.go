package jdl

import (
	"regexp"
	"strings"
)

// pattern is a compiled regular expression. It works on bytes: a dot is one
// byte of a UTF-8 character.
type pattern struct {
	re *regexp.Regexp
}

// pattern compiles a regular expression once per evaluation.
func (ev *evaluator) pattern(text, opts string) (*pattern, error) {
	key := patternKey{text, patternFlags(opts)}
	if p, ok := ev.patterns[key]; ok {
		return p.p, p.err
	}
	p, err := compilePattern(key)
	if ev.patterns == nil {
		ev.patterns = make(map[patternKey]patternResult)
	}
	ev.patterns[key] = patternResult{p, err}
	return p, err
}

type patternKey struct{ text, flags string }

type patternResult struct {
	p   *pattern
	err error
}

// patternFlags keeps the options i, m, s and x; others, and capitals, have
// no meaning.
func patternFlags(opts string) string {
	flags := ""
	for _, f := range []string{"i", "m", "s", "x"} {
		if strings.Contains(opts, f) {
			flags += f
		}
	}
	return flags
}

func compilePattern(k patternKey) (*pattern, error) {
	text := k.text
	if strings.Contains(k.flags, "x") {
		text = dropBlanks(text)
	}
	if f := strings.Trim(k.flags, "x"); f != "" {
		text = "(?" + f + ")" + text
	}
	re, err := regexp.Compile(latin1(text))
	if err != nil {
		return nil, err
	}
	return &pattern{re: re}, nil
}

// dropBlanks removes what option x makes meaningless: white space and
// comments outside character classes.
func dropBlanks(s string) string {
	var b strings.Builder
	class := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			b.WriteString(s[i : i+2])
			i++
			continue
		case c == '[':
			class = true
		case c == ']':
			class = false
		case !class && isSpace(c):
			continue
		case !class && c == '#':
			for i+1 < len(s) && s[i+1] != '\n' {
				i++
			}
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// latin1 makes a character of every byte, so that the regexp package sees
// bytes.
func latin1(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			rs := make([]rune, len(s))
			for i := range len(s) {
				rs[i] = rune(s[i])
			}
			return string(rs)
		}
	}
	return s
}

func (p *pattern) match(s string) (bool, error) { return p.re.MatchString(latin1(s)), nil }

// find returns the bounds of the first match from a byte on, and of its
// groups, as regexp.FindSubmatchIndex does; nil for none.
func (p *pattern) find(s string, from int) ([]int, error) {
	wide := latin1(s)
	for _, m := range p.re.FindAllStringSubmatchIndex(wide, -1) {
		if wide != s {
			for i := range m {
				if m[i] >= 0 {
					m[i] = len([]rune(wide[:m[i]]))
				}
			}
		}
		if m[0] >= from {
			return m, nil
		}
	}
	return nil, nil
}
