package cli

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

// A table is the same on a terminal, where it has colours, and in a pipe: wide
// characters take two columns, text of others is one harmless line, nothing
// stands at the end of a line.
func TestTable(t *testing.T) {
	want := strings.Join([]string{
		"ID    >N          EXIT  NOTE",
		"1a    日本語         0  é b",
		"2bcd  x            127",
		"3",
		"      \\x1b[31m\\n",
		"",
	}, "\n")
	for _, terminal := range []bool{false, true} {
		var out bytes.Buffer
		d := &deps{nonce: "nonce"}
		d.env.Out, d.env.Terminal, d.env.Getenv = &out, terminal, func(string) string { return "" }
		rows := [][]string{
			{"1a", "日本語", styled(d, red, "0"), " é b "}, {"2bcd", styled(d, green, "x"), "127", ""}, {"3"}, {"", "\x1b[31m\n", "", ""},
		}
		if err := table(d, []column{{name: "ID"}, {name: ">N"}, {name: "EXIT", right: true}, {name: "NOTE"}}, rows); err != nil {
			t.Fatal(err)
		}
		colours := regexp.MustCompile("\x1b\\[[0-9]+m")
		if got := colours.ReplaceAllString(out.String(), ""); got != want || terminal == (got == out.String()) {
			t.Errorf("on a terminal: %v\n%s\nwant\n%s", terminal, out.String(), want)
		}
	}
}
