package classad

import "gridbroker/jdl/pcre"

// maxSearch bounds the steps that all searches of one Evaluation or one
// Program may take beyond those that are free.
const maxSearch = 10_000_000

// searches is what regular expressions share.
type searches struct {
	left     int // of maxSearch
	err      error
	patterns map[patternKey]patternResult
}

type patternKey struct{ text, options string }

type patternResult struct {
	re  *pcre.Regexp
	err error
}

func newSearches() *searches { return &searches{left: maxSearch} }

// pattern compiles a regular expression once.
func (s *searches) pattern(text, options string) (*pcre.Regexp, error) {
	key := patternKey{text, options}
	if p, ok := s.patterns[key]; ok {
		return p.re, p.err
	}
	re, err := pcre.Compile(text, options)
	if s.patterns == nil {
		s.patterns = make(map[patternKey]patternResult)
	}
	s.patterns[key] = patternResult{re, err}
	return re, err
}

func (s *searches) match(re *pcre.Regexp, text string) (bool, error) {
	ok, err := re.Match(text, &s.left)
	if err != nil {
		s.err = err
	}
	return ok, err
}

func (s *searches) find(re *pcre.Regexp, text string, from int) ([]int, error) {
	m, err := re.Find(text, from, &s.left)
	if err != nil {
		s.err = err
	}
	return m, err
}
