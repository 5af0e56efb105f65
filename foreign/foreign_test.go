package foreign

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"plain ASCII, é, 日本, €": "plain ASCII, é, 日本, €",
		"a\nb\tc\rd":            `a\nb\tc\rd`,
		"\x1b]0;title\x07":      `\x1b]0;title\x07`,
		"\x7f\x00":              `\x7f\x00`,
		"\u009b31m":             `\x9b31m`,
		"a\u202eb\u2066":        `a\u{202e}b\u{2066}`,
		"\u2028":                `\u{2028}`,
		"\u200b\ufeff":          `\u{200b}\u{feff}`,
		"\xff\xc3":              `\xff\xc3`,
		"\ufffd":                "\ufffd",
		"\U000e0041":            `\u{e0041}`,
		"":                      "",
	} {
		if got := Text(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := Lines("a\r\nb\tc\x1b\n"); got != "a\nb\tc\\x1b\n" {
		t.Errorf("%q", got)
	}
	if got := Message("no\ngrid: all is well\n"); got != "no\n  grid: all is well" {
		t.Errorf("%q", got)
	}
}

func TestWriter(t *testing.T) {
	var out bytes.Buffer
	w := &Writer{W: &out, Own: map[string]string{"<k7>": "\x1b[1m"}}
	for _, part := range []string{"<k7>a\x1b[31m\xe2", "\x82", "\xac\n\u202e", "<k7", ">\xff"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if got, want := out.String(), "\x1b[1ma\\x1b[31m€\n\\u{202e}<k7>\\xff"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestJSON(t *testing.T) {
	in := "a\u009b\u202e\U000e0041\x7f€\u2028"
	doc, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	safe := JSON(doc)
	var back string
	if err := json.Unmarshal(safe, &back); err != nil || back != in {
		t.Errorf("%s: %q, %v", safe, back, err)
	}
	if strings.ContainsFunc(string(safe), func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.Errorf("%q", safe)
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\x1b\n\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		got := Text(s)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) && r != utf8.RuneError }) {
			t.Errorf("%q", got)
		}
		if Text(got) != got {
			t.Errorf("%q is not left alone", got)
		}
	})
}

// A line of a message that is longer than anybody reads is shown in part, whole characters of it;
// lines of a usual length are not touched, however many they are.
func TestLongMessages(t *testing.T) {
	for what, text := range map[string]string{"letters": strings.Repeat("x", 1<<20), "characters": "é" + strings.Repeat("日本", 1<<18), "controls": strings.Repeat("\x1b", 1<<18)} {
		got := Message("grid.toml:1:1: no such setting: " + text + ": its end\nnext")
		if len(got) > longLine+100 || !strings.HasPrefix(got, "grid.toml:1:1: no such setting: ") || !strings.HasSuffix(got, ": its end\n  next") || !utf8.ValidString(got) {
			t.Errorf("%s: %d bytes: %.100q", what, len(got), got)
		}
	}
	many := strings.TrimSuffix(strings.Repeat(strings.Repeat("y", longLine)+"\n", 10), "\n")
	if got := Message(many); got != strings.ReplaceAll(many, "\n", "\n  ") {
		t.Errorf("%d bytes of %d", len(got), len(many))
	}
}

func TestPage(t *testing.T) {
	for page, want := range map[string]string{
		"<p>◀ 12\u2009345 ›\n\té</p>": "<p>◀ 12\u2009345 ›\n\té</p>",
		"<b>a\u202eb\u2028</b>c\xff":  `<b>a\u{202e}b\u{2028}</b>c\xff`,
		"\u0085":                      `\x85`,
	} {
		if got := string(Page([]byte(page))); got != want {
			t.Errorf("%q: %q, want %q", page, got, want)
		}
	}
}
