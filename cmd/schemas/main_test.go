package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPublished holds docs/schema to what the types say.
func TestPublished(t *testing.T) {
	files, err := schemas("../..")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		have, err := os.ReadFile(filepath.Join("../../docs/schema", name))
		if err != nil || string(have) != string(want) {
			t.Errorf("docs/schema/%s is not what the types say (%v): run make schemas", name, err)
		}
	}
	there, err := filepath.Glob("../../docs/schema/*.json")
	if err != nil || len(there) != len(files)-1 {
		t.Errorf("docs/schema has %d schemas, want %d (%v): run make schemas", len(there), len(files)-1, err)
	}
}
