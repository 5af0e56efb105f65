// Package pcre has the regular expressions of the ClassAd language: PCRE's
// syntax and meaning on bytes, without Unicode classes, recursion and
// conditionals.
package pcre

import "strings"

// Regexp is a compiled regular expression, safe for concurrent use. A dot is
// one byte of a UTF-8 character.
type Regexp struct {
	prog  *reProgram
	tests *textTests // what the pattern comes down to on text of one line; nil: run the program
}

// Compile reads a pattern. The options are letters: i without case, m ^ and $
// at every line, s a dot takes line feeds, x blanks in the pattern mean
// nothing. Others, and capitals, have no meaning.
func Compile(text, options string) (*Regexp, error) {
	tree, p, err := parsePattern(text, flagsOf(options))
	if err != nil {
		return nil, err
	}
	prog, err := compileProgram(tree, p)
	if err != nil {
		return nil, err
	}
	return &Regexp{prog: prog, tests: reduce(tree)}, nil
}

func flagsOf(options string) reFlags {
	return reFlags{
		fold:   strings.Contains(options, "i"),
		lines:  strings.Contains(options, "m"),
		dotAll: strings.Contains(options, "s"),
		blanks: strings.Contains(options, "x"),
	}
}

// Match reports whether the pattern is found in s. It is an error when that
// takes too many steps.
func (p *Regexp) Match(s string) (bool, error) {
	if p.tests != nil && strings.IndexByte(s, '\n') < 0 {
		return p.tests.match(s), nil
	}
	m, err := p.prog.search(s, 0)
	return m != nil, err
}

// Find returns the bounds of the first match from a byte on, followed by
// those of its groups, -1 for one that took no part; nil for no match.
func (p *Regexp) Find(s string, from int) ([]int, error) { return p.prog.search(s, from) }
