package remote

import (
	"os/exec"
	"strings"
	"testing"
)

func TestQuote(t *testing.T) {
	for _, word := range []string{
		"", "a", "a b", "'", "''", "it's", `"`, `\`, `\'`, "$HOME", "$(id)", "`id`", "*", "~", "!x", "#", "a;b", "a&b|c>d<e", "-n", "--",
		"a\nb", "\t", "\r", "ü€𝄞", "\xff\xfe", "{a,b}", "%s", "=", "a=b", strings.Repeat("'", 50),
	} {
		for _, quoted := range []string{quote(word), CommandLine([]string{word})} {
			out, err := exec.Command("sh", "-c", "printf '%s.' "+quoted).Output()
			if err != nil || string(out) != word+"." {
				t.Errorf("%q is %q to the shell: %q %v", word, quoted, out, err)
			}
		}
	}
}

func FuzzQuote(f *testing.F) {
	f.Add("it's $(a) \n b")
	f.Fuzz(func(t *testing.T, word string) {
		word = strings.ReplaceAll(word, "\x00", "")
		out, err := exec.Command("sh", "-c", "printf '%s.' "+quote(word)).Output()
		if err != nil || string(out) != word+"." {
			t.Errorf("%q: %q %v", word, out, err)
		}
	})
}
