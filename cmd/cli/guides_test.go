package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gridbroker/testdata/testbed"
)

// TestGuides runs the examples of the guides as their readers would: the files
// that they show are written, what follows a "$" is run by sh, and the output is
// what they say, where "…" stands for anything within a line and a line of its
// own for any lines.
func TestGuides(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/guides/*.md")
	if err != nil || len(pages) < 3 {
		t.Fatalf("%d guides: %v", len(pages), err)
	}
	for _, page := range pages {
		t.Run(strings.TrimSuffix(filepath.Base(page), ".md"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			g := guide{t: t, page: page, dir: testbed.Home(t)}
			if strings.Contains(string(text), "grid env ") {
				g.launcher()
			}
			for _, b := range blocks(string(text)) {
				g.play(b)
			}
			if g.ran < 4 {
				t.Errorf("%d commands", g.ran)
			}
		})
	}
}

// block is a fenced block of a page: the words after the fence, and its text.
type block struct {
	info []string
	text string
}

var fence = regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```$")

func blocks(page string) (out []block) {
	for _, m := range fence.FindAllStringSubmatch(page, -1) {
		out = append(out, block{strings.Fields(m[1]), m[2]})
	}
	return out
}

// guide is a page that is played in a directory, as a user with a home of its own.
type guide struct {
	t         *testing.T
	page, dir string
	bin       string // of more programs
	ran       int
}

// launcher lays down what a node has for environments, and needs what the page makes one of.
func (g *guide) launcher() {
	if _, err := os.Stat("/bin/busybox"); err != nil {
		g.t.Skip("no /bin/busybox: Debian package busybox-static")
	}
	g.bin = g.t.TempDir()
	if err := programs(g.bin, "grid-launch", "grid-deploy"); err != nil {
		g.t.Fatal(err)
	}
}

func (g *guide) play(b block) {
	g.t.Helper()
	switch {
	case len(b.info) == 1 && b.info[0] == "console":
		for _, e := range examples(b.text) {
			g.run(e)
		}
	case len(b.info) == 2: // a file
		if err := os.WriteFile(filepath.Join(g.dir, b.info[1]), []byte(b.text), 0o700); err != nil {
			g.t.Fatal(err)
		}
	default:
		g.t.Errorf("%s: a block %q that nothing runs:\n%s", g.page, b.info, b.text)
	}
}

// example is a command with its exit code and its output.
type example struct {
	command string
	code    int
	output  []string
}

var exitMark = regexp.MustCompile(`  # exit (\d+)$`)

func examples(text string) (out []example) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			e := example{command: command}
			if m := exitMark.FindStringSubmatch(command); m != nil {
				e.code, _ = strconv.Atoi(m[1])
			}
			out = append(out, e)
		} else if len(out) > 0 {
			out[len(out)-1].output = append(out[len(out)-1].output, line)
		}
	}
	return out
}

func (g *guide) run(e example) {
	g.t.Helper()
	g.ran++
	cmd := exec.Command("sh", "-c", e.command)
	cmd.Dir = g.dir
	cmd.Env = []string{"HOME=" + filepath.Join(g.dir, "home"), "PATH=" + strings.TrimPrefix(g.bin+":"+os.Getenv("PATH"), ":"), "LANG=C.UTF-8", "COLUMNS=160", "GORACE=" + quickExit}
	var said strings.Builder
	cmd.Stderr = &said
	out, _ := cmd.Output() // a failure shows in the exit code
	if code := cmd.ProcessState.ExitCode(); code != e.code {
		g.t.Errorf("%s: %s: exit code %d, want %d\n%s%s", g.page, e.command, code, e.code, out, said.String())
	}
	if want := pattern(e.output); !want.Match(out) {
		g.t.Errorf("%s: %s prints\n%swhere the page has\n%s\n%s", g.page, e.command, out, strings.Join(e.output, "\n"), said.String())
	}
}

// pattern matches the output that a page shows.
func pattern(lines []string) *regexp.Regexp {
	var re strings.Builder
	re.WriteString(`\A`)
	for _, line := range lines {
		if line == "…" {
			re.WriteString(`(?:[^\n]*\n)*?`)
			continue
		}
		fmt.Fprintf(&re, `%s *\n`, strings.ReplaceAll(regexp.QuoteMeta(line), "…", `[^\n]*`))
	}
	return regexp.MustCompile(re.String() + `\z`)
}
