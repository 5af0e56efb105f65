package cli

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// What is offered to the shell is one word a line, whatever a site calls itself.
func TestOfferedWords(t *testing.T) {
	got, _ := offered([]cobra.Completion{"b", "", "a\tA site", "\tno name", "a\tA site", "x\ny", "esc\x1b[2J", "bidi\u202e", "c\ttab\there", "é"})
	if want := []cobra.Completion{"a\tA site", "b", "é"}; !slices.Equal(got, want) {
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
