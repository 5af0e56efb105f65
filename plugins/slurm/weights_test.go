package slurm

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gridbroker/batch"
)

// tapedWith is a recording in which one word is another, where it first is in one of the files.
func tapedWith(t *testing.T, file, was, is string) batch.State {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/several")); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(dir, file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(text, []byte(was), []byte(is), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	return taped(t, dir)
}

// TestWeights: nodes have the weights by which Slurm takes them.
func TestWeights(t *testing.T) {
	var got []string
	for _, n := range tapedWith(t, "node", " Weight=1 ", " Weight=100 ").Nodes {
		got = append(got, fmt.Sprint(n.Name, " ", n.Weight))
	}
	if len(got) < 2 || got[0] != "n1 100" || got[1] != "n2 1" {
		t.Errorf("weights: %q", got)
	}
}

// TestSpreadingPartitions: in those with LLN=YES the nodes with the most room are for the next job, and in all where the configuration has CR_LLN.
func TestSpreadingPartitions(t *testing.T) {
	var got []bool
	for _, q := range tapedWith(t, "partition", " LLN=NO ", " LLN=YES ").Queues {
		got = append(got, q.Spread)
	}
	if fmt.Sprint(got) != "[true false false]" {
		t.Errorf("LLN of one partition: %v", got)
	}
	c := cluster{parts: records("PartitionName=a LLN=NO\n"), set: set{spreads: settings{"SelectTypeParameters": "CR_CORE_MEMORY,CR_LLN"}.selects("CR_LLN")}}
	if q := c.state(time.Unix(1, 0), "c").Queues; len(q) != 1 || !q[0].Spread {
		t.Errorf("CR_LLN: %+v", q)
	}
}
