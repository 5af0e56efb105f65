package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestReadmeNamesEveryVerb: who reads the table of verbs in README knows all that there are.
func TestReadmeNamesEveryVerb(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "\n## The verbs\n")
	if !found {
		t.Fatal("README.md has no table of verbs")
	}
	table, _, _ = strings.Cut(table, "\n\nEvery verb")
	root := rootCmd(&deps{env: Env{Getenv: func(string) string { return "" }}})
	for _, verb := range missing(root, strings.Split(table, "\n")) {
		t.Errorf("README.md does not name grid %s", verb)
	}
	if none := missing(root, []string{"| `grid ping` | |"}); len(none) < 30 {
		t.Errorf("of a table of one verb %d are missing", len(none))
	}
}

// missing are the verbs that no row of a table names, the verbs below others with these.
func missing(root *cobra.Command, rows []string) (verbs []string) {
	for _, cmd := range root.Commands() {
		if !cmd.IsAvailableCommand() || cmd.Name() == "man" { // made for packages
			continue
		}
		below := cmd.Commands()
		if !cmd.HasAvailableSubCommands() {
			below = []*cobra.Command{cmd}
		}
		for _, one := range below {
			named := regexp.MustCompile("[`| ]" + one.Name() + "[`\\\\| ]")
			of := regexp.MustCompile("[` ]" + cmd.Name() + "[` ]")
			ok := false
			for _, row := range rows {
				first, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " | ")
				ok = ok || of.MatchString(first) && named.MatchString(first)
			}
			if !ok && one.IsAvailableCommand() {
				verbs = append(verbs, strings.TrimPrefix(one.CommandPath(), "grid "))
			}
		}
	}
	return verbs
}
