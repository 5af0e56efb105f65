package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// What is offered to the shell is one word a line, whatever a site calls itself.
func TestOfferedWords(t *testing.T) {
	got, _ := offered([]cobra.Completion{"b", "", "a\tA site", "\tno name", "a\tA site", "x\ny", "esc\x1b[2J", "bidi\u202e", "c\ttab\there", "é",
		"$(id)", "`id`", "a;id", "a&id", "a|id", "<(id)", "=(id)", "*(e:id:)", `a\b`, `'`, `"`, "a{1..9999999999}", "/*/*", "a?", "[a-z]", "a!!", "-a", "a --config=x", "_activeHelp_ your password?", "two words", "a-b"})
	if want := []cobra.Completion{"a\tA site", "a-b", "b", "two words", "é"}; !slices.Equal(got, want) {
		t.Errorf("offered %q, want %q", got, want)
	}
}

// Every name in the table of values is a flag of some verb.
func TestFlagValuesHaveFlags(t *testing.T) {
	d := &deps{env: OSEnv()}
	unused := flagValues(d)
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if _, ok := c.GetFlagCompletionFunc(f.Name); ok {
				for _, key := range []string{c.CommandPath()[len("grid"):] + " --" + f.Name, " JOBS --" + f.Name, " --" + f.Name} {
					delete(unused, key[1:])
				}
			}
		})
		for _, below := range c.Commands() {
			walk(below)
		}
	}
	walk(rootCmd(d))
	for key := range unused {
		t.Errorf("%s: no verb has this flag", key)
	}
}

// TestManPages holds what a page tells of flags: the name of the value, once.
func TestManPages(t *testing.T) {
	dir := t.TempDir()
	if err := manPages(rootCmd(&deps{env: OSEnv()}), dir); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "grid-list.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\\fB\\-\\-since time\\fP\njobs submitted since a time (2h", ".SH GLOBAL OPTIONS\n", "\\fB\\-v, \\-\\-verbose\\fP\n"} {
		if strings.Count(string(page), want) != 1 {
			t.Errorf("%q is not there once", want)
		}
	}
	if strings.Contains(string(page), "\n\t") || strings.Contains(string(page), "PARENT COMMANDS") {
		t.Error("the page has the flags as cobra writes them")
	}
}
