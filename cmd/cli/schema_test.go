package cli_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"gridbroker/cmd/cli"
)

// schemasSeen names the directory in which the scripts note the schemas of what their commands have printed.
const schemasSeen = "GRID_TEST_SCHEMAS_SEEN"

// strictly runs a command with --json and holds all that it prints to the published schemas: every
// script of testdata/script does so by calling grid.
func strictly(run func(cli.Env) int) int {
	env := cli.OSEnv()
	if !slices.Contains(os.Args, "--json") || slices.ContainsFunc(os.Args, func(s string) bool { return strings.HasPrefix(s, "--jq") }) {
		return run(env)
	}
	var printed kept
	env.Out = io.MultiWriter(os.Stdout, &printed)
	code := run(env)
	if err := checkDocuments(printed.Bytes(), os.Getenv(schemasSeen)); err != nil {
		fmt.Fprintf(os.Stderr, "what --json printed is not as published: %v\n", err)
		return 99
	}
	return code
}

// kept keeps what several goroutines write.
type kept struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (k *kept) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.b.Write(p)
}

func (k *kept) Bytes() []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	return bytes.Clone(k.b.Bytes())
}

// checkDocuments holds lines of JSON to the schemas that they name, and notes these.
func checkDocuments(text []byte, seen string) error {
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for lines.Scan() {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(lines.Bytes()))
		if err != nil {
			return fmt.Errorf("%.100s: %w", lines.Text(), err)
		}
		fields, _ := doc.(map[string]any)
		name, _ := fields["schema"].(string)
		schema, err := published(name)
		if err != nil {
			return err
		}
		if err := schema.Validate(doc); err != nil {
			return err
		}
		if seen != "" {
			if err := os.WriteFile(filepath.Join(seen, fileOf(name)), nil, 0o600); err != nil {
				return err
			}
		}
	}
	return lines.Err()
}

func fileOf(schema string) string { return strings.Replace(schema, "/", ".", 1) + ".json" }

// published compiles a schema of docs/schema, made stricter: nothing beyond what it names may be there.
func published(name string) (*jsonschema.Schema, error) {
	dir := os.Getenv("TESTDATA") + "/../docs/schema"
	text, err := os.ReadFile(filepath.Join(dir, fileOf(name)))
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	closed(doc)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("schema.json")
}

// closed refuses, in a schema, fields that it does not name.
func closed(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["properties"].(map[string]any); ok {
			v["additionalProperties"] = false
		}
		for _, x := range v {
			closed(x)
		}
	case []any:
		for _, x := range v {
			closed(x)
		}
	}
}

// unseen are the published schemas of which the scripts have printed no document, but for those that need servers
// which not every machine has.
func unseen(dir string) ([]string, error) {
	needServers := []string{"grid.budget", "grid.scheduler.explain", "grid.manager.show", "grid.agent.schedule", "grid.agent.vres", "grid.env.image",
		"grid.env.verify", "grid.env.gc", "grid.env.push", "grid.auth.renew", "grid.follow.install"}
	var out []string
	for _, d := range cli.Documents() {
		_, err := os.Stat(filepath.Join(dir, fileOf(d.Schema())))
		if errors.Is(err, os.ErrNotExist) && !slices.Contains(needServers, d.Name) {
			out = append(out, d.Schema())
		}
	}
	return out, nil
}

// TestDocumentsAreChecked shows that the check finds what is wrong.
func TestDocumentsAreChecked(t *testing.T) {
	t.Setenv("TESTDATA", "../../testdata")
	good := map[string]any{"schema": "grid.version/v1", "version": "v1"}
	for name, change := range map[string]func(map[string]any){
		"good":    func(map[string]any) {},
		"more":    func(m map[string]any) { m["more"] = 1 },
		"kind":    func(m map[string]any) { m["version"] = 1 },
		"missing": func(m map[string]any) { delete(m, "version") },
		"schema":  func(m map[string]any) { m["schema"] = "grid.nothing/v1" },
	} {
		doc := map[string]any{}
		for k, v := range good {
			doc[k] = v
		}
		change(doc)
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		if err := checkDocuments(text, ""); (err == nil) != (name == "good") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
