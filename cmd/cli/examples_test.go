package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestExamplesOfHelp: what the help of a verb shows as examples are calls that the program takes: verbs, flags, their values
// and as many words as there may be.
func TestExamplesOfHelp(t *testing.T) {
	root := rootCmd(&deps{env: Env{Getenv: func(string) string { return "" }}})
	seen := 0
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Example == "" && c.IsAvailableCommand() && !c.HasSubCommands() {
			t.Errorf("%s has no examples", c.CommandPath())
		}
		for _, line := range strings.Split(strings.ReplaceAll(c.Example, "\\\n", " "), "\n") {
			for _, words := range calls(line) {
				seen++
				if err := takes(root, words[1:]); err != nil {
					t.Errorf("%s: %s: %v", c.CommandPath(), strings.Join(words, " "), err)
				}
			}
		}
		for _, below := range c.Commands() {
			walk(below)
		}
	}
	walk(root)
	if seen < 150 {
		t.Errorf("only %d calls were found", seen)
	}
	for _, wrong := range []string{"grid submit --nothing x", "grid nothing", "grid jdl convert", "grid submit --deadline soon x"} {
		if takes(root, calls(wrong)[0][1:]) == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}

// takes is whether the program knows the verb, its flags and that many words.
func takes(root *cobra.Command, args []string) error {
	cmd, rest, err := root.Find(args)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err != nil {
		return err
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// replaced is what a shell puts something else in the place of.
var replaced = regexp.MustCompile(`\$\([^)]*\)|\$[a-z]+`)

// calls are the calls of grid in a line for a shell, in words.
func calls(line string) (found [][]string) {
	var words []string
	word, quote, open := "", rune(0), false
	end := func() {
		if open {
			words = append(words, word)
		}
		word, open = "", false
	}
	flush := func() {
		end()
		if len(words) > 0 && words[0] == "grid" {
			found = append(found, words)
		}
		words = nil
	}
	line = replaced.ReplaceAllString(line, "1")
	into := false // what follows is where output goes to
	for _, c := range line + "\n" {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word += string(c)
		case c == '\'' || c == '"':
			quote, open = c, true
		case c == '#' && !open:
			flush()
			return found
		case strings.ContainsRune("|&;\n", c):
			if into {
				word, open, into = "", false, false
			}
			flush()
		case c == '>' || c == '<':
			end()
			into = true
		case c == ' ' && into && !open:
		case c == ' ':
			if into {
				word, open, into = "", false, false
			}
			end()
		default:
			word, open = word+string(c), true
		}
	}
	return found
}
