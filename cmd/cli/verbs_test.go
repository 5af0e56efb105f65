package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestEveryVerbHasADocument: what --json makes each verb print is published, by the verb's own words or where another
// document says that it is also this verb's. A new verb without one is found here.
func TestEveryVerbHasADocument(t *testing.T) {
	texts := []string{ // they print a text that is for programs already, or another program's
		"completion.bash", "completion.fish", "completion.powershell", "completion.zsh", "scheduler.export", "env.run", "env.shell", "help",
	}
	// A document's "who prints it" ends with a colon, and names verbs with commas between: "auth status, proxy, login: ...".
	printed := map[string]bool{}
	for _, d := range Documents() {
		who, _, _ := strings.Cut(d.Of, ":")
		group := ""
		for i, verb := range strings.Split(who, ", ") {
			words := strings.Fields(verb)
			if n := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "--") }); n >= 0 {
				words = words[:n]
			}
			if i == 0 && len(words) > 1 {
				group = strings.Join(words[:len(words)-1], ".") + "."
			}
			printed[strings.Join(words, ".")] = true
			printed[group+strings.Join(words, ".")] = true
		}
	}
	seen := 0
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		name := strings.ReplaceAll(strings.TrimPrefix(c.CommandPath(), "grid "), " ", ".")
		if c.Runnable() && c.HasParent() && !c.HasSubCommands() && !c.Hidden {
			seen++
			name = strings.TrimPrefix(name, "scheduler.manager") // the tree of managers by its other name
			if name != "" && name[0] == '.' {
				name = "manager" + name
			}
			if !printed[name] && !slices.Contains(texts, name) {
				t.Errorf("grid %s: no document says that it is this verb's", strings.ReplaceAll(name, ".", " "))
			}
		}
		for _, below := range c.Commands() {
			walk(below)
		}
	}
	walk(rootCmd(&deps{env: Env{Getenv: func(string) string { return "" }}}))
	if seen < 60 {
		t.Errorf("only %d verbs were found", seen)
	}
}
