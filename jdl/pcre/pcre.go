// Package pcre has the regular expressions of the ClassAd language: PCRE's
// syntax and meaning on bytes, without Unicode classes, recursion and
// conditionals.
package pcre

import "strings"

// Regexp is a compiled regular expression, safe for concurrent use. A dot is
// one byte of a UTF-8 character.
type Regexp struct {
	prog   *reProgram
	groups int        // slots of the match and its groups
	tests  *textTests // what the pattern comes down to on text of one line; nil: run the program
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
	return &Regexp{prog: prog, groups: 2 * (p.groups + 1), tests: reduce(tree)}, nil
}

func flagsOf(options string) reFlags {
	return reFlags{
		fold:   strings.Contains(options, "i"),
		lines:  strings.Contains(options, "m"),
		dotAll: strings.Contains(options, "s"),
		blanks: strings.Contains(options, "x"),
	}
}

// Match reports whether the pattern is found in s. A search may take some
// steps for each byte of s; what it takes beyond them is taken from allowance,
// which searches share, and when that is used up the error is ErrSteps.
func (p *Regexp) Match(s string, allowance *int) (bool, error) {
	if p.tests != nil && strings.IndexByte(s, '\n') < 0 {
		return p.tests.match(s), nil
	}
	m, err := p.prog.search(s, 0, allowance)
	return m != nil, err
}

// Find returns the bounds of the first match from a byte on, followed by
// those of its groups, -1 for one that took no part; nil for no match. See
// Match for the allowance.
func (p *Regexp) Find(s string, from int, allowance *int) ([]int, error) {
	m, err := p.prog.search(s, from, allowance)
	return m[:min(len(m), p.groups)], err
}
