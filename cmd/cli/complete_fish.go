package cli

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// The line with which cobra's script for fish takes the words that stand on the command line: without
// their quotes and backslashes. It has them evaluated afterwards, by which a file named $(command), that
// fish itself had completed and quoted, was run at the next Tab.
const (
	fishWords = "set -l args (commandline -opc)\n"
	fishSafe  = "set -l args (string escape -- (commandline -opc))\n"
)

// safeFish has "completion fish" print a script that evaluates no word of the command line, and "completion" refuse the
// name of another shell, whose script would be a text of help.
func safeFish(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	if all, _, err := root.Find([]string{"completion"}); err == nil && all != root {
		all.Args = usageArgs(cobra.NoArgs)
		all.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	cmd, _, err := root.Find([]string{"completion", "fish"})
	if err != nil || cmd.Name() != "fish" {
		return
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		bare, err := cmd.Flags().GetBool("no-descriptions")
		if err != nil {
			return err
		}
		var script bytes.Buffer
		if err := root.GenFishCompletion(&script, !bare); err != nil {
			return err
		}
		text := script.String()
		if strings.Count(text, fishWords) != 1 {
			return errors.New("the script for fish takes its words in a way that is not known: it is not printed")
		}
		_, err = io.WriteString(cmd.OutOrStdout(), strings.Replace(text, fishWords, fishSafe, 1))
		return err
	}
}
