package jdl

import "strings"

// regexpFunctions search text for regular expressions.
var regexpFunctions = []function{
	{name: "regexp", min: 2, max: 3, strict: regexpSearch},
	{name: "regexpMember", min: 2, max: 3, strict: regexpMember},
	{name: "regexps", min: 3, max: 4, strict: substitution("", false)},
	{name: "replace", min: 3, max: 4, strict: substitution("f", true)},
	{name: "replaceAll", min: 3, max: 4, strict: substitution("fg", true)},
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
	return matched(re.match(vs[1].str))
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
	opts, v, bad := patternArgs(append([]Value{vs[0]}, vs[2:]...), 1)
	switch list := vs[1]; {
	case bad:
		return v
	case list.kind == Undefined:
		return list
	case list.kind != List:
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
		if ok, err := re.match(e.str); err != nil {
			return ErrorValue()
		} else if ok {
			return BoolValue(true)
		}
	}
	return result
}

// substitution makes regexps, replace and replaceAll: arguments pattern,
// string, replacement with \0 to \9 for what the groups matched, options.
// Option f keeps the text around the match, g replaces all matches. Without a
// match the result is the whole text if whole is set, else empty.
func substitution(always string, whole bool) func(*evaluator, []Value) Value {
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
		keep := whole || strings.ContainsAny(opts, "fg")
		return ev.substitute(re, vs[1].str, vs[2].str, keep, strings.Contains(opts, "g"))
	}
}

func (ev *evaluator) substitute(re *pattern, s, by string, keep, all bool) Value {
	var b strings.Builder
	from, hits := 0, 0
	for at := 0; at <= len(s) && (hits == 0 || all); hits++ {
		m, err := re.find(s, at)
		if err != nil {
			return ErrorValue()
		}
		if m == nil {
			break
		}
		if keep {
			b.WriteString(s[from:m[0]])
		}
		expand(&b, by, s, m)
		if !ev.spend(1+m[1]-at, len(by)+m[1]-at) {
			return ErrorValue()
		}
		if from, at = m[1], m[1]; m[1] == m[0] {
			at++
		}
	}
	if keep {
		b.WriteString(s[from:])
	}
	return ev.produce(b.String())
}

// expand writes the replacement with its \0 to \9; a group that took no part
// is empty, and a backslash before anything else stands for itself.
func expand(b *strings.Builder, by, s string, m []int) {
	for i := 0; i < len(by); i++ {
		if by[i] != '\\' || i+1 == len(by) || !isDigit(by[i+1]) {
			b.WriteByte(by[i])
			continue
		}
		i++
		if g := 2 * int(by[i]-'0'); g+1 < len(m) && m[g] >= 0 {
			b.WriteString(s[m[g]:m[g+1]])
		}
	}
}
