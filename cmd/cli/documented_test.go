package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestCallsInDocuments: whatever call of the program the documents mention, within a sentence or on a line of its own, has verbs and
// flags that there are.
func TestCallsInDocuments(t *testing.T) {
	root := rootCmd(&deps{env: Env{Getenv: func(string) string { return "" }}})
	root.InitDefaultCompletionCmd()
	pages := []string{"../../README.md"}
	for _, pattern := range []string{"../../docs/*.md", "../../docs/guides/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatal(pattern, err)
		}
		pages = append(pages, found...)
	}
	seen := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range mentioned(string(text)) {
			for _, words := range calls(line) {
				seen++
				if wrong := unknown(root, words[1:]); wrong != "" {
					t.Errorf("%s: %s: %s", filepath.Base(page), line, wrong)
				}
			}
		}
	}
	if seen < 400 {
		t.Errorf("only %d calls were found", seen)
	}
	for _, wrong := range []string{"grid probe --site x", "grid nothing", "grid jdl nothing", "grid submit --wait --nothing"} {
		if unknown(root, calls(wrong)[0][1:]) == "" {
			t.Errorf("%s is taken", wrong)
		}
	}
}

var mention = regexp.MustCompile("`(grid [^`\n]+)`")

// mentioned are the calls in a page: those within its sentences, and lines of its blocks.
func mentioned(page string) (lines []string) {
	block := false
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		fence := strings.HasPrefix(line, "```")
		block = block != fence
		switch {
		case fence:
		case block || strings.HasPrefix(line, "    "):
			line = strings.TrimSpace(strings.TrimPrefix(line, "$ "))
			if strings.HasPrefix(line, "grid ") {
				lines = append(lines, strings.ReplaceAll(line, "(the same flags)", ""))
			}
		default:
			for _, m := range mention.FindAllStringSubmatch(line, -1) {
				lines = append(lines, strings.ReplaceAll(m[1], `\|`, "|")) // as tables have it
			}
		}
	}
	return lines
}

// unknown is the verb or the flag of a call that the program does not have; "": it has all. What a flag is given, and how many
// words there are, is not looked at: a sentence may leave them out.
func unknown(root *cobra.Command, args []string) string {
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err.Error()
	}
	if len(rest) > 0 && cmd.HasSubCommands() && strings.ToLower(rest[0]) == rest[0] && rest[0][0] >= 'a' && rest[0][0] <= 'z' {
		return "no verb " + rest[0]
	}
	for _, word := range rest {
		if word == "--" {
			break
		}
		name, is := strings.CutPrefix(word, "--")
		name, _, _ = strings.Cut(name, "=")
		if is && cmd.Flags().Lookup(name) == nil && cmd.InheritedFlags().Lookup(name) == nil && name != "help" && name != "version" {
			return "no flag --" + name
		}
	}
	return ""
}
