package environment_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gridbroker/environment"
)

// What is wrong in a node's settings is told with the file, the line and the column.
func TestNodeIsMisread(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{\n  \"definitions\": \"/a\",\n  \"cahce\": \"/b\"\n}": `:3:3: json: unknown field "cahce"`,
		"{\n  \"definitions\": 5\n}":                            ":2:18: json: cannot unmarshal number",
		"{\n  \"definitions\": \"/a\" \"cache\"":                `:2:23: invalid character '"'`,
		"{ \"definitions\": \"/a\",\n":                          ":2:1: unexpected EOF",
	} {
		file := filepath.Join(t.TempDir(), "node.json")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := environment.ReadNode(file); err == nil || !strings.HasPrefix(err.Error(), file+want) {
			t.Errorf("%s\n%v, want %s", text, err, want)
		}
	}
}
