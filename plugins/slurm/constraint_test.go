package slurm

import (
	"slices"
	"strings"
	"testing"

	"gridbroker/batch"
)

// TestConstraints: which nodes a constraint is met by. That "&" and "|" go from left to right,
// and that nodes of both kinds serve "[a|b]", is what sbatch --test-only of 22.05 said.
func TestConstraints(t *testing.T) {
	nodes := []batch.Node{{Name: "n1", Features: []string{"debian12", "VEE"}}, {Name: "n8", Features: []string{"debian12", "bigmem"}}, {Name: "n9"}}
	for constraint, want := range map[string]string{
		"(null)": "n1 n8 n9", "": "n1 n8 n9", "debian12": "n1 n8", "debian12&bigmem": "n8", "debian12,bigmem": "n8", "bigmem|none": "n8",
		"bigmem|debian12&VEE": "n1", "debian12&VEE|bigmem": "n1 n8", "bigmem|(debian12&VEE)": "n1 n8", "[bigmem|VEE]": "n1 n8",
		"debian12,bigmem|VEE": "n1 n8", "debian12&(bigmem|VEE)&none": "", "[debian12*1&bigmem*1]": "n1 n8", "[VEE*2&bigmem*1]": "n1 n8", "[VEE*1]": "n1",
		"[VEE*2&bigmem]": "n1 n8 n9", "[VEE*2|bigmem*1]": "n1 n8 n9", "VEE*2": "n1 n8 n9", "[*2&bigmem*1]": "n1 n8 n9", "[VEE*0]": "n1 n8 n9",
		"(a": "n1 n8 n9", "a)": "n1 n8 n9", "a&": "n1 n8 n9", "|": "n1 n8 n9", "(a]": "n1 n8 n9", "a(b)": "n1 n8 n9", "(a)b": "n1 n8 n9",
		strings.Repeat("(a&b)|", 100) + "c": "n1 n8 n9", strings.Repeat("(", 100_000): "n1 n8 n9",
	} {
		features := splitFeatures(constraint)
		var met []string
		for i := range nodes {
			if !slices.ContainsFunc(features, func(f string) bool { return !nodes[i].Has(f) }) {
				met = append(met, nodes[i].Name)
			}
		}
		if got := strings.Join(met, " "); got != want {
			t.Errorf("%.60s: met by %q, want %q (%q)", constraint, got, want, features)
		}
	}
}
