package pcre

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gridbroker/testdata/testbed"
)

// The engine against Go's regexp package, on the syntax they share.
func TestPatternAgainstRegexp(t *testing.T) {
	testbed.Computes(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		text := randomPattern(rnd, 3)
		re, err := regexp.Compile(text)
		if err != nil {
			continue
		}
		p, err := Compile(text, "")
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for range 5 {
			s := randomText(rnd)
			m, err := p.Find(s, 0, plenty())
			want := re.FindStringIndex(s)
			if err != nil || (m == nil) != (want == nil) || m != nil && !slices.Equal(m[:2], want) {
				t.Fatalf("%q in %q: got %v %v, want %v", text, s, m, err, want)
			}
			if ok, _ := p.Match(s, plenty()); ok != (want != nil) {
				t.Fatalf("%q in %q: tests say %v, tests %+v", text, s, ok, p.tests)
			}
		}
	}
}

func randomPattern(r *rand.Rand, depth int) string {
	atoms := []string{"a", "b", "c", ".", ".*", "[ab]", "[^a]", `\d`, "", "x.y", ".*ab.*", "a*", "b+", "c?", "(?:ab)*?", "a{1,2}"}
	var b strings.Builder
	if r.IntN(6) == 0 {
		b.WriteString("^")
	}
	for range r.IntN(4) {
		if depth > 0 && r.IntN(4) == 0 {
			fmt.Fprintf(&b, "(%s)", randomPattern(r, depth-1))
		} else if depth > 0 && r.IntN(5) == 0 {
			fmt.Fprintf(&b, "(?:%s|%s)", randomPattern(r, depth-1), randomPattern(r, depth-1))
		} else {
			b.WriteString(atoms[r.IntN(len(atoms))])
		}
	}
	if r.IntN(6) == 0 {
		b.WriteString("$")
	}
	return b.String()
}

func randomText(r *rand.Rand) string {
	b := make([]byte, r.IntN(9))
	for i := range b {
		b[i] = "abcxy1"[r.IntN(6)]
	}
	return string(b)
}

func TestPattern(t *testing.T) {
	tests := []struct {
		pattern, opts, s, want string // want: the match, or - for none, or ! for an error
	}{
		{`(?<=a)b`, "", "ab", "b"},
		{`(?<!a)b`, "", "ab", "-"},
		{`(?<=ab|c)d`, "", "xcd", "d"},
		{`(?<=a*)b`, "", "ab", "!"},
		{`a(?=b)`, "", "acab", "a"},
		{`a(?!b)`, "", "abac", "a"},
		{`(a)\1`, "", "xaa", "aa"},
		{`(?<x>a|b)\k<x>`, "", "abb", "bb"},
		{`(a|b)\g{-1}`, "", "abb", "bb"},
		{`(a)\2`, "", "aa", "!"},
		{`(?i)(a)\1`, "", "aA", "aA"},
		{`(?>a+)ab`, "", "aaab", "-"},
		{`a++b`, "", "aaab", "aaab"},
		{`a+?`, "", "aaa", "a"},
		{`^.$`, "", "é", "-"},
		{`^..$`, "", "é", "é"},
		{`b$`, "", "ab\n", "b"},
		{`b\z`, "", "ab\n", "-"},
		{`^b`, "m", "a\nb", "b"},
		{`a.b`, "", "a\nb", "-"},
		{`a.b`, "s", "a\nb", "a\nb"},
		{`a b # c`, "x", "ab", "ab"},
		{`\Qa.b\E+`, "", "a.bbb", "a.bbb"},
		{`[[:alpha:]]+`, "", "12abc", "abc"},
		{`[^[:^digit:]]`, "", "a1", "1"},
		{`[]a]+`, "", "x]a", "]a"},
		{`[a\-z]+`, "", "b-az", "-az"},
		{`\x41\x{42}\103`, "", "ABC", "ABC"},
		{`a{,2}`, "", "a{,2}", "a{,2}"},
		{`a{2}`, "", "aaa", "aa"},
		{`\bfoo\b`, "", "a foo b", "foo"},
		{`\h+\R`, "", "a \t\r\n", " \t\r\n"},
		{`*a`, "", "a", "!"},
		{`a**`, "", "a", "!"},
		{`(`, "", "a", "!"},
		{`)`, "", "a", "!"},
		{`[a`, "", "a", "!"},
		{`[b-a]`, "", "a", "!"},
		{`a{2,1}`, "", "a", "!"},
		{`\`, "", "a", "!"},
		{`(a*)*b`, "", "aab", "aab"},
		{`(a|ab)(c|bcd)`, "", "abcd", "abcd"},
		{`(?i)CERN`, "", "ce.cern.ch", "cern"},
		{`.*CERN.*`, "i", "ce.cern.ch", "ce.cern.ch"},
		{`(?#c)a`, "", "a", "a"},
		{`(?(1)a)`, "", "a", "!"},
		{`(?R)`, "", "a", "!"},
	}
	for _, c := range tests {
		p, err := Compile(c.pattern, c.opts)
		got := "!"
		if err == nil {
			got = "-"
			m, err := p.Find(c.s, 0, plenty())
			if err != nil {
				t.Fatal(err)
			}
			if m != nil {
				got = c.s[m[0]:m[1]]
			}
			if ok, _ := p.Match(c.s, plenty()); ok != (m != nil) {
				t.Errorf("%q in %q: match says %v", c.pattern, c.s, ok)
			}
		}
		if got != c.want {
			t.Errorf("%q in %q: got %q, want %q (%v)", c.pattern, c.s, got, c.want, err)
		}
	}
}

// What would take a naive engine for ever ends.
func TestPatternHard(t *testing.T) {
	for _, c := range []struct{ pattern, s string }{
		{`(a+)+b`, strings.Repeat("a", 5000)},
		{`(a|a)*b`, strings.Repeat("a", 5000)},
		{`(a*)*(a*)*(a*)*b`, strings.Repeat("a", 2000)},
		{`((a{1,9}){1,9}){1,9}b`, strings.Repeat("a", 1000)},
		{`(a+)+\1b`, strings.Repeat("a", 5000)},
		{`(?:(?=a+b)a|a)*c`, strings.Repeat("a", 1000)},
		{strings.Repeat("(a|b)", 100), strings.Repeat("a", 99)},
	} {
		p, err := Compile(c.pattern, "")
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := p.Match(c.s, plenty()); ok {
			t.Errorf("%s: %v %v", c.pattern, ok, err)
		}
	}
	for _, text := range []string{"((a{1000}){1000}){1000}", strings.Repeat("(", 100000), strings.Repeat("(?:", 100000)} {
		if _, err := Compile(text, ""); err == nil {
			t.Errorf("%.20s: accepted", text)
		}
	}
}

func plenty() *int {
	n := maxSteps
	return &n
}
