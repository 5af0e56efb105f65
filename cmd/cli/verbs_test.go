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

// TestManPagesTellDefaults: what a flag is unless it is given stands in the man page as in --help, and the name of its value is a
// word that somebody chose.
func TestManPagesTellDefaults(t *testing.T) {
	root := rootCmd(&deps{env: Env{Getenv: func(string) string { return "" }}})
	dir := t.TempDir()
	if err := manPages(root, dir); err != nil {
		t.Fatal(err)
	}
	seen := 0
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		page, err := os.ReadFile(filepath.Join(dir, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"))
		if err != nil {
			t.Fatal(err)
		}
		c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			var one pflag.FlagSet
			one.AddFlag(f)
			value, _ := pflag.UnquoteUsage(f)
			if slices.Contains([]string{"int", "uint", "float", "duration", "strings", "string"}, value) {
				t.Errorf("%s --%s %s: name its value", c.CommandPath(), f.Name, value)
			}
			_, said, has := strings.Cut(strings.TrimSpace(one.FlagUsages()), " (default ")
			if f.Hidden || !has {
				return
			}
			seen++
			if !strings.Contains(string(page), roff(" (default "+said)+"\n") {
				t.Errorf("%s: the page does not tell of --%s: (default %s", c.CommandPath(), f.Name, said)
			}
		})
		for _, below := range c.Commands() {
			if below.IsAvailableCommand() {
				walk(below)
			}
		}
	}
	walk(root)
	if seen < 100 {
		t.Errorf("only %d defaults were found", seen)
	}
}
