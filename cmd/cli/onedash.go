package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// verbatim marks a verb of which all words from the first on that is no flag are another
// program's.
const verbatim = "verbatim"

// otherProgram leaves the words from the first on that is no flag to another program.
func otherProgram(cmd *cobra.Command) {
	cmd.Flags().SetInterspersed(false)
	cmd.Annotations = map[string]string{verbatim: "true"}
}

// oneDash refuses a whole word behind one dash, as HTCondor and other programs write their
// flags: the parser takes it letter by letter, so that -output is -o with the value utput.
func oneDash(root *cobra.Command, args []string) error {
	cmd, words, err := root.Find(args)
	if err != nil || len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return nil // the command itself tells it
	}
	if cmd == root && slices.ContainsFunc(words, func(w string) bool { return !strings.HasPrefix(w, "-") }) {
		return nil // a verb that there is not
	}
	cmd.InitDefaultHelpFlag()
	cmd.InheritedFlags() // which makes them known to Flags
	if word := wholeWord(cmd, words); word != "" {
		return noFlag(cmd, "-", word)
	}
	return nil
}

// wholeWord is the first word behind one dash that is the name of a flag, or no flags of one letter; "": there is none.
func wholeWord(cmd *cobra.Command, words []string) string {
	for i := 0; i < len(words) && words[i] != "--"; i++ {
		word := words[i]
		name, _, given := strings.Cut(strings.TrimLeft(word, "-"), "=")
		switch {
		case strings.HasPrefix(word, "--"):
			if f := cmd.Flags().Lookup(name); f != nil && f.NoOptDefVal == "" && !given {
				i++ // its value
			}
		case len(word) > 1 && word[0] == '-':
			known, wants := letters(cmd.Flags(), word[1:])
			if len(name) > 1 && (!known || cmd.Flags().Lookup(name) != nil) {
				return name
			}
			if wants {
				i++
			}
		case cmd.Annotations[verbatim] != "":
			return ""
		}
	}
	return ""
}

// letters is whether a word is made of flags of one letter and the last one's value, and whether that one still wants a value.
func letters(flags *pflag.FlagSet, word string) (known, wants bool) {
	for i := range len(word) {
		f := flags.ShorthandLookup(word[i : i+1])
		switch {
		case f == nil:
			return false, false
		case f.NoOptDefVal == "":
			return true, i+1 == len(word)
		case i+1 < len(word) && word[i+1] == '=':
			return true, false
		}
	}
	return true, false
}
