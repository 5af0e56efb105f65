package cli

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"
)

// TestTablesFit holds that on a terminal of any width a table of jobs has no line
// that is wider, that ids stay whole, and that a pipe gets all.
func TestTablesFit(t *testing.T) {
	rows := [][]string{
		{"1m87kh7z4b73jsw", "analysis-of-run-2026-B-0001", "running", "ce01.example.org:8443/long", "", "2min ago", "1min", ""},
		{"1m87kh92z6ec91s", "analysis-of-run-2026-B-0002", "failed", "日本.example.org/short", "126", "2h ago", "1min", "the program analyse.sh is not there"},
	}
	print := func(width int, noted bool) string {
		var out bytes.Buffer
		d := &deps{nonce: "nonce"}
		d.env.Out, d.env.Terminal, d.env.Width, d.env.Getenv = &out, width > 0, width, func(string) string { return "" }
		cols := spare(columns("ID", "NAME", "STATE", "RESOURCE", ">EXIT", ">SUBMITTED", ">RAN", "NOTE"), "RAN", "SUBMITTED", "NOTE", "EXIT", "RESOURCE", "NAME")
		n := len(rows)
		if !noted {
			n = 1
		}
		painted := make([][]string, n)
		for i, row := range rows[:n] {
			painted[i] = append([]string(nil), row...)
			painted[i][2] = styled(d, green, row[2])
		}
		if err := table(d, cols, painted); err != nil {
			t.Fatal(err)
		}
		return regexp.MustCompile("\x1b\\[[0-9]+m").ReplaceAllString(out.String(), "")
	}
	for width, want := range map[int]string{
		60: `
ID               NAME           STATE    RESOURCE       EXIT
1m87kh7z4b73jsw  analys…B-0001  running  ce01.e…3/long
1m87kh92z6ec91s  analys…B-0002  failed   日本.e…/short   126
`,
		80: `
ID               NAME         STATE    RESOURCE     EXIT  SUBMITTED  NOTE
1m87kh7z4b73jsw  analy…-0001  running  ce01.…/long         2min ago
1m87kh92z6ec91s  analy…-0002  failed   日本.…short   126     2h ago  the p…there
`,
	} {
		if got := "\n" + print(width, true); got != want {
			t.Errorf("%d columns:\n%s\nwant\n%s", width, got, want)
		}
	}
	for width := 40; width <= 250; width++ {
		for _, noted := range []bool{true, false} {
			got := print(width, noted)
			for line := range strings.Lines(got) {
				if w := runewidth.StringWidth(strings.TrimRight(line, "\n")); w > width {
					t.Errorf("%d columns: a line of %d: %s", width, w, line)
				}
			}
			if !strings.Contains(got, rows[0][0]) {
				t.Errorf("%d columns: an id is cut\n%s", width, got)
			}
		}
	}
	if wide, pipe := print(200, true), print(0, true); wide != pipe || !strings.Contains(pipe, rows[1][7]) {
		t.Errorf("in a pipe\n%s\nat 200 columns\n%s", pipe, wide)
	}
}

// TestWordsStayWhole: as long as a longer column can be cut, words are not.
func TestWordsStayWhole(t *testing.T) {
	var out bytes.Buffer
	d := &deps{nonce: "nonce"}
	d.env.Out, d.env.Terminal, d.env.Width, d.env.Getenv = &out, true, 60, func(string) string { return "" }
	cols := spare(columns("RESOURCE", "SITE", ">MISSES", "FILTER", "LASTS", "WANT", "HAVE"), "LASTS", "SITE", "MISSES")
	row := []string{"arex1.arc.test/short [testers.arc.test]", "TESTBED-arex1", "1", "site", "always", "nowhere", "arex1.arc.test/short"}
	if err := table(d, cols, [][]string{row}); err != nil {
		t.Fatal(err)
	}
	const want = `
RESOURCE               MISSES  FILTER  WANT     HAVE
arex1.arc.….arc.test]       1  site    nowhere  arex1.…short
`
	if got := "\n" + regexp.MustCompile("\x1b\\[[0-9]+m").ReplaceAllString(out.String(), ""); got != want {
		t.Errorf("%s", got)
	}
}
