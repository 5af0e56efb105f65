package slurm

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestWeights: nodes have the weights by which Slurm takes them.
func TestWeights(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/several")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "node")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(text, []byte(" Weight=1 "), []byte(" Weight=100 "), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range taped(t, dir).Nodes {
		got = append(got, fmt.Sprint(n.Name, " ", n.Weight))
	}
	if len(got) < 2 || got[0] != "n1 100" || got[1] != "n2 1" {
		t.Errorf("weights: %q", got)
	}
}
