package pcre

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"gridbroker/testdata/testbed"
)

// The engine against PCRE2's own test program, on random patterns of the whole
// syntax: the verdict, the place of the match and what every group took.
func TestAgainstPCRE2(t *testing.T) {
	testbed.Computes(t)
	program, err := exec.LookPath("pcre2test")
	if err != nil {
		t.Skip("pcre2test is not installed (Debian's pcre2-utils)")
	}
	const patterns, texts = 6000, 4
	g := patternMaker{rand.New(rand.NewPCG(3, 5)), 0}
	var in bytes.Buffer
	var cases []pcre2Case
	for len(cases) < patterns {
		c := pcre2Case{pattern: g.pattern(3), options: g.options()}
		for range texts {
			c.texts = append(c.texts, g.text())
		}
		if _, err := Compile(c.pattern, c.options); err == nil {
			cases = append(cases, c)
			c.write(&in)
		}
	}
	cmd := exec.Command(program, "-q")
	cmd.Stdin = &in
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewScanner(bytes.NewReader(out))
	compared, wrong := 0, 0
	for _, c := range cases {
		n, bad := c.compare(t, readAnswers(answers))
		compared, wrong = compared+n, wrong+bad
	}
	if compared < patterns*texts*95/100 {
		t.Errorf("only %d of %d searches were compared", compared, patterns*texts)
	}
	t.Logf("%d searches compared, %d differ", compared, wrong)
}

// pcre2Case is a pattern with its texts; a line "##" in the output ends it.
type pcre2Case struct {
	pattern, options string
	texts            []string
}

func (c pcre2Case) write(b *bytes.Buffer) {
	fmt.Fprintf(b, "/%s/%sallcaptures,aftertext\n", c.pattern, strings.TrimSuffix(c.options+",", ","+c.options))
	for _, s := range c.texts {
		fmt.Fprintf(b, "    %s\\\n", strings.NewReplacer("\n", `\n`, " ", `\x20`).Replace(s))
	}
	b.WriteString("\n# ##\n\n")
}

// readAnswers reads one case: for each text its lines, or nothing when PCRE2
// refuses the pattern.
func readAnswers(lines *bufio.Scanner) (answers [][]string) {
	for lines.Scan() && lines.Text() != "# ##" {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "    "):
			answers = append(answers, nil)
		case len(answers) > 0 && line != "":
			answers[len(answers)-1] = append(answers[len(answers)-1], line)
		}
	}
	return answers
}

func (c pcre2Case) compare(t *testing.T, answers [][]string) (compared, wrong int) {
	if len(answers) != len(c.texts) {
		return 0, 0 // refused
	}
	p, err := Compile(c.pattern, c.options)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range c.texts {
		if len(answers[i]) == 0 || strings.Contains(answers[i][0], "Failed") {
			continue
		}
		m, err := p.Find(s, 0, plenty())
		if errors.Is(err, ErrSteps) {
			continue // PCRE2 tells beforehand that some patterns cannot match
		}
		compared++
		if got, want := asPCRE2(s, m), strings.Join(answers[i], "\n"); got != want {
			t.Errorf("/%s/%s in %q:\n%s\nPCRE2 says\n%s", c.pattern, c.options, s, got, want)
			wrong++
		}
	}
	return compared, wrong
}

// asPCRE2 writes a match as pcre2test does.
func asPCRE2(s string, m []int) string {
	if m == nil {
		return "No match"
	}
	visible := strings.NewReplacer("\n", `\x0a`)
	var lines []string
	for i := 0; i < len(m); i += 2 {
		text := "<unset>"
		if m[i] >= 0 {
			text = visible.Replace(s[m[i]:m[i+1]])
		}
		lines = append(lines, fmt.Sprintf("%2d: %s", i/2, text))
		if i == 0 {
			lines = append(lines, " 0+ "+visible.Replace(s[m[1]:]))
		}
	}
	return strings.Join(lines, "\n")
}

// patternMaker makes patterns of all that the engine has.
type patternMaker struct {
	*rand.Rand
	groups int
}

func (g *patternMaker) one(of ...string) string { return of[g.IntN(len(of))] }

func (g *patternMaker) options() string { return g.one("", "", "", "i", "m", "s", "im", "ms") }

func (g *patternMaker) text() string {
	var b strings.Builder
	for range g.IntN(9) {
		b.WriteString(g.one("a", "a", "b", "b", "c", "A", "1", " ", "\n", "_"))
	}
	return b.String()
}

func (g *patternMaker) pattern(depth int) string {
	g.groups = 0
	return g.alternatives(depth)
}

func (g *patternMaker) alternatives(depth int) string {
	parts := []string{g.sequence(depth)}
	for range g.IntN(3) - 1 {
		parts = append(parts, g.sequence(depth))
	}
	return strings.Join(parts, "|")
}

func (g *patternMaker) sequence(depth int) string {
	var b strings.Builder
	for range g.IntN(4) {
		b.WriteString(g.atom(depth) + g.quantifier())
	}
	return b.String()
}

func (g *patternMaker) quantifier() string {
	return g.one("", "", "", "*", "+", "?", "*?", "+?", "??", "*+", "{2}", "{1,2}", "{0,2}?", "{2,}")
}

func (g *patternMaker) atom(depth int) string {
	if depth > 0 && g.IntN(2) == 0 {
		return g.group(depth - 1)
	}
	if g.groups > 0 && g.IntN(8) == 0 {
		return fmt.Sprintf("(?:\\%d)", 1+g.IntN(g.groups))
	}
	return g.one("a", "a", "b", "b", "c", ".", "[ab]", "[^a]", `\d`, `\w`, `\s`, "(?:^)", "(?:$)", `(?:\b)`, `(?:\B)`, "[[:alpha:]]", `(?:\A)`, `(?:\z)`, `(?:\Z)`)
}

func (g *patternMaker) group(depth int) string {
	open := g.one("(", "(", "(", "(?:", "(?:", "(?>", "(?=", "(?!", "(?i:")
	if open == "(" {
		g.groups++
	}
	body := g.alternatives(depth)
	if open == "(?=" || open == "(?!" {
		return "(?:" + open + body + "))"
	}
	return open + body + ")"
}
