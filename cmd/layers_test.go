// Package cmd_test states the import order of the whole program as policy.
package cmd_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// mayImport lists, for each package tree, the trees of ours that it may
// import besides itself. The longest matching prefix decides. A name that ends
// in a slash is each of the trees right below: as a rule, it leaves them to
// themselves, siblings that they may import are named. A tree inside another
// one that has a rule of its own is named too where it may be imported.
var mayImport = map[string][]string{
	"jdl/pcre":                 {},
	"jdl/classad":              {"jdl/pcre"},
	"jdl":                      {"jdl/classad", "foreign"},
	"jdl/arex":                 {"jdl", "jdl/classad"},
	"jdl/adl":                  {"jdl", "jdl/classad", "jdl/arex"},
	"jdl/xrsl":                 {"jdl", "jdl/classad", "jdl/arex"},
	"jdl/sbatch":               {"jdl", "jdl/classad"},
	"jdl/condor":               {"jdl", "jdl/classad"},
	"jdl/formats":              {"jdl"},
	"batch":                    {},
	"credential":               {"asked", "durable", "foreign"},
	"environment":              {"durable", "foreign"},
	"environment/registry":     {"credential", "environment"},
	"environment/tags":         {"durable", "environment"},
	"readahead":                {},
	"foreign":                  {},
	"asked":                    {},
	"durable":                  {},
	"durable/sqlite":           {"durable"},
	"glue":                     {"jdl", "foreign"},
	"glue/packed":              {"glue"},
	"infosys":                  {"asked", "durable", "glue", "glue/packed", "credential", "foreign"},
	"rank":                     {"glue", "jdl"},
	"plugins":                  {"durable", "rank", "glue", "jdl", "batch", "credential", "foreign"},
	"plugins/":                 {"asked", "durable", "durable/sqlite", "environment", "plugins", "plugins/ask", "plugins/remote", "rank", "glue", "jdl", "batch", "infosys", "credential", "foreign"},
	"plugins/tree":             {"plugins", "forecast/managers", "glue", "jdl", "credential", "foreign"},
	"plugins/all":              {"plugins", "plugins/", "rank", "glue", "jdl", "batch", "infosys", "credential", "foreign"},
	"plugins/plugintest":       {"plugins", "rank", "glue", "jdl", "batch", "foreign"},
	"broker":                   {"plugins", "rank", "infosys", "glue", "jdl", "foreign"},
	"jobs":                     {"durable", "durable/sqlite", "broker", "plugins", "rank", "glue", "jdl", "foreign"},
	"forecast/agent":           {"durable", "forecast/turns", "forecast/wire", "plugins", "plugins/forecast", "plugins/queuelen", "batch", "glue", "jdl"},
	"forecast/scheduler":       {"durable/sqlite", "foreign", "forecast/scheduler/plan", "forecast/turns", "forecast/wire", "jobs", "broker", "plugins", "batch", "credential", "rank", "glue", "jdl"},
	"forecast/managers":        {},
	"forecast/managers/daemon": {"asked", "durable", "foreign", "forecast/managers", "forecast/turns"},
	"forecast/managers/chart":  {},
	"forecast/managers/desk":   {"durable/sqlite", "foreign", "forecast/managers", "forecast/managers/daemon", "forecast/turns", "credential"},
	"forecast/sim/tree":        {"forecast/managers"},
	"forecast/sim":             {"durable", "foreign", "forecast/managers", "forecast/wire", "readahead", "jobs", "broker", "plugins", "batch", "rank", "glue", "jdl", "jdl/classad", "infosys", "forecast/scheduler", "forecast/scheduler/plan", "forecast/agent"},
	"forecast/turns":           {},
	"forecast/wire":            {"foreign"},
	"forecast/scheduler/plan":  {},
	"cmd":                      {"*"},
	"testdata":                 {"*"},
}

type listed struct {
	ImportPath string
	Imports    []string
}

func TestLayers(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "gridbroker/...").Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("go list: %v: %s", err, failed.Stderr)
	} else if err != nil {
		t.Fatal(err)
	}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		check(t, strings.TrimPrefix(p.ImportPath, "gridbroker/"), p.Imports)
	}
}

// The table of docs/architecture.md has a row for whatever has a rule.
func TestLayersAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	for tree := range mayImport {
		if row := "`" + strings.TrimSuffix(tree, "/") + "/"; !strings.Contains(string(page), row) {
			t.Errorf("docs/architecture.md has no row for %s", tree)
		}
	}
}

func check(t *testing.T, pkg string, imports []string) {
	t.Helper()
	rule, allowed := policy(pkg)
	if rule == "" {
		t.Errorf("%s: no rule for this package; the layout is in docs/architecture.md", pkg)
	}
	for _, imp := range imports {
		dep, ours := strings.CutPrefix(imp, "gridbroker/")
		depRule, _ := policy(dep)
		own := within(dep, ownTree(rule, pkg)) && len(depRule) <= len(rule)
		if ours && !own && !anyWithin(dep, allowed) {
			t.Errorf("%s must not import %s", pkg, dep)
		}
	}
}

// policy returns the longest rule that covers pkg.
func policy(pkg string) (rule string, allowed []string) {
	for prefix, list := range mayImport {
		covers := pkg == prefix || strings.HasSuffix(prefix, "/") && strings.HasPrefix(pkg, prefix) ||
			!strings.HasSuffix(prefix, "/") && strings.HasPrefix(pkg, prefix+"/")
		if covers && len(prefix) > len(rule) {
			rule, allowed = prefix, list
		}
	}
	return rule, allowed
}

// ownTree is the tree that a package covered by a rule belongs to.
func ownTree(rule, pkg string) string {
	if !strings.HasSuffix(rule, "/") {
		return rule
	}
	child, _, _ := strings.Cut(strings.TrimPrefix(pkg, rule), "/")
	return rule + child
}

func within(pkg, tree string) bool { return pkg == tree || strings.HasPrefix(pkg, tree+"/") }

func anyWithin(pkg string, trees []string) bool {
	for _, tree := range trees {
		// "plugins" as a permission is the contract package alone.
		below := strings.HasSuffix(tree, "/") && strings.HasPrefix(pkg, tree)
		if tree == "*" || below || pkg == tree || tree != "plugins" && within(pkg, tree) {
			return true
		}
	}
	return false
}
