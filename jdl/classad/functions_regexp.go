package classad

import (
	"strings"

	"gridbroker/jdl/pcre"
)

// regexpFunctions search text for regular expressions.
var regexpFunctions = []function{
	{name: "regexp", min: 2, max: 3, strict: regexpSearch},
	{name: "regexpMember", min: 2, max: 3, strict: regexpMember},
	{name: "regexps", min: 3, max: 4, strict: substitution("")},
	{name: "replace", min: 3, max: 4, strict: substitution("f")},
	{name: "replaceAll", min: 3, max: 4, strict: substitution("fg")},
}

// patternArgs checks the arguments that regexp and its kin share: a pattern,
// strings, and options at the end if there is one argument more.
func patternArgs(vs []Value, strs int) (opts string, v Value, bad bool) {
	if v, bad := errorFirst(vs...); bad {
		return "", v, true
	}
	for _, s := range vs {
		if s.kind != String {
			return "", ErrorValue(), true
		}
	}
	if len(vs) > strs {
		opts = vs[strs].str
	}
	return opts, Value{}, false
}

// regexpSearch(pattern, string [, options]) looks for the pattern anywhere.
func regexpSearch(ev *evaluator, vs []Value) Value {
	opts, v, bad := patternArgs(vs, 2)
	if bad {
		return v
	}
	re, err := ev.pattern(vs[0].str, opts)
	if err != nil || !ev.spend(len(vs[1].str), 0) {
		return ErrorValue()
	}
	return matched(ev.match(re, vs[1].str))
}

func matched(ok bool, err error) Value {
	if err != nil {
		return ErrorValue()
	}
	return BoolValue(ok)
}

// regexpMember(pattern, list [, options]) is true at the first element the
// pattern is found in; UNDEFINED if there is none but an UNDEFINED element.
func regexpMember(ev *evaluator, vs []Value) Value {
	if v, bad := errorFirst(vs...); bad {
		return v
	}
	opts, v, bad := patternArgs(append([]Value{vs[0]}, vs[2:]...), 1)
	switch {
	case bad:
		return v
	case vs[1].kind != List:
		return ErrorValue()
	}
	re, err := ev.pattern(vs[0].str, opts)
	result := BoolValue(false)
	for _, e := range vs[1].box.list {
		switch {
		case e.kind == Undefined:
			result = e
			continue
		case e.kind != String || !ev.spend(1+len(e.str), 0):
			return ErrorValue()
		case err != nil: // a bad pattern is found nowhere
			continue
		}
		if ok, err := ev.match(re, e.str); err != nil {
			return ErrorValue()
		} else if ok {
			return BoolValue(true)
		}
	}
	return result
}

// substitution makes regexps, replace and replaceAll: arguments pattern,
// string, replacement with \0 to \9 for what the groups matched, options.
// Option f keeps the text around the match, g replaces all matches.
func substitution(always string) func(*evaluator, []Value) Value {
	return func(ev *evaluator, vs []Value) Value {
		opts, v, bad := patternArgs(vs, 3)
		if bad {
			return v
		}
		opts += always
		re, err := ev.pattern(vs[0].str, opts)
		if err != nil || !ev.spend(len(vs[1].str), 0) {
			return ErrorValue()
		}
		return ev.substitute(re, vs[1].str, vs[2].str, strings.Contains(opts, "f"), strings.Contains(opts, "g"))
	}
}

// substitute goes from match to match. After an empty one the next character
// stays as it is; an empty match at the end of s, of which there is none left,
// is an ERROR when all are replaced, as in the ClassAd library.
func (ev *evaluator) substitute(re *pcre.Regexp, s, by string, keep, all bool) Value {
	var b strings.Builder
	from := 0
	for more := true; more; more = all {
		m, err := ev.find(re, s, from)
		if err != nil {
			return ErrorValue()
		}
		if m == nil {
			break
		}
		if keep {
			b.WriteString(s[from:m[0]])
		}
		if !expand(&b, by, s, m) || !ev.spend(1+m[1]-from, len(by)+m[1]-from) {
			return ErrorValue()
		}
		from = m[1]
		if m[1] > m[0] || !all {
			continue
		}
		if from == len(s) {
			return ErrorValue()
		}
		b.WriteByte(s[from])
		from++
	}
	if keep {
		b.WriteString(s[from:])
	}
	return ev.produce(b.String())
}

// expand writes the replacement with its \0 to \9; a group that took no part
// is empty, and a backslash before anything else stands for itself. It is
// false for a group after the last one that took part.
func expand(b *strings.Builder, by, s string, m []int) bool {
	last := len(m) - 2
	for last > 0 && m[last] < 0 {
		last -= 2
	}
	for i := 0; i < len(by); i++ {
		if by[i] != '\\' || i+1 == len(by) || !isDigit(by[i+1]) {
			b.WriteByte(by[i])
			continue
		}
		i++
		g := 2 * int(by[i]-'0')
		if g > last {
			return false
		}
		if m[g] >= 0 {
			b.WriteString(s[m[g]:m[g+1]])
		}
	}
	return true
}
