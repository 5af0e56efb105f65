package jdl

import (
	"slices"
	"testing"
)

func TestSplitArgs(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
		err  string
	}{
		{"", nil, ""},
		{"  -l  -a\t/tmp ", []string{"-l", "-a", "/tmp"}, ""},
		{`-i "\"Fabrizio Pacini" *.txt`, []string{"-i", `"Fabrizio Pacini`, "*.txt"}, ""},
		{`a"b c"d`, []string{"ab cd"}, ""},
		{`"" x`, []string{"", "x"}, ""},
		{`-c 'echo "hi" > f; ls'`, []string{"-c", `echo "hi" > f; ls`}, ""},
		{`a \& b\|c`, []string{"a", "&", "b|c"}, ""},
		{`"a & b"`, []string{"a & b"}, ""},
		{`"\d+\\"`, []string{`\d+\`}, ""},
		{`a\ b`, []string{"a b"}, ""},
		{`'\n'`, []string{`\n`}, ""},
		{"a > b", nil, `'>' stands outside quotes, and no shell reads the arguments`},
		{"a | b", nil, `'|' stands outside quotes, and no shell reads the arguments`},
		{`"abc`, nil, "a quote is not closed"},
		{`abc\`, nil, "it ends in a backslash"},
	} {
		got, err := SplitArgs(c.in)
		if msg := errText(err); msg != c.err || !slices.Equal(got, c.want) {
			t.Errorf("SplitArgs(%s) = %q, %q; want %q, %q", c.in, got, msg, c.want, c.err)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func FuzzArgs(f *testing.F) {
	f.Add(`a "b c" 'd' \& "\"x\\"`)
	f.Fuzz(func(t *testing.T, s string) {
		words, err := SplitArgs(s)
		if err != nil {
			return
		}
		again, err := SplitArgs(JoinArgs(words))
		if err != nil || !slices.Equal(words, again) {
			t.Errorf("%q: %q, then %q (%v)", s, words, again, err)
		}
	})
}
