package jdl

import "strings"

// pattern is a compiled regular expression: PCRE on bytes, so that a dot is
// one byte of a UTF-8 character. Most patterns in use come down to looking
// for fixed text, which tests then does.
type pattern struct {
	prog  *reProgram
	tests *textTests // nil: run the program
}

type patternKey struct {
	text  string
	flags reFlags
}

type patternResult struct {
	p   *pattern
	err error
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

// patternFlags reads the options i, m, s and x; others, and capitals, have no
// meaning.
func patternFlags(opts string) reFlags {
	return reFlags{
		fold:   strings.Contains(opts, "i"),
		lines:  strings.Contains(opts, "m"),
		dotAll: strings.Contains(opts, "s"),
		blanks: strings.Contains(opts, "x"),
	}
}

func compilePattern(k patternKey) (*pattern, error) {
	tree, p, err := parsePattern(k.text, k.flags)
	if err != nil {
		return nil, err
	}
	prog, err := compileProgram(tree, p)
	if err != nil {
		return nil, err
	}
	return &pattern{prog: prog, tests: reduce(tree)}, nil
}

// match reports whether the pattern is found in s.
func (p *pattern) match(s string) (bool, error) {
	if p.tests != nil && strings.IndexByte(s, '\n') < 0 {
		return p.tests.match(s), nil
	}
	m, err := p.prog.search(s, 0)
	return m != nil, err
}

// find returns the bounds of the first match from a byte on, followed by
// those of its groups, -1 for one that took no part; nil for no match.
func (p *pattern) find(s string, from int) ([]int, error) { return p.prog.search(s, from) }
