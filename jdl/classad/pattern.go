package classad

import "gridbroker/jdl/pcre"

type patternKey struct{ text, options string }

type patternResult struct {
	re  *pcre.Regexp
	err error
}

// pattern compiles a regular expression once per evaluation.
func (ev *evaluator) pattern(text, options string) (*pcre.Regexp, error) {
	key := patternKey{text, options}
	if p, ok := ev.patterns[key]; ok {
		return p.re, p.err
	}
	re, err := pcre.Compile(text, options)
	if ev.patterns == nil {
		ev.patterns = make(map[patternKey]patternResult)
	}
	ev.patterns[key] = patternResult{re, err}
	return re, err
}
