package jdl

import "testing"

func TestMatchKey(t *testing.T) {
	key := func(src string) string { return parseTest(t, `Executable = "/bin/ls"; `+src).MatchKey() }
	base := `n = 4; Requirements = other.x > self.n; `
	same := key(base)
	for _, c := range []struct {
		src  string
		same bool
	}{
		{base + `Arguments = "other things"; RetryCount = 1;`, true},
		{`N = 4; requirements = other.x > self.n;`, true},
		{`n = 5; Requirements = other.x > self.n;`, false},
		{base + `Rank = 1;`, false},
		{base + `Memory = 100;`, false},
		{base + `VirtualOrganisation = "x";`, false},
		{base + `FuzzyRank = true;`, false},
	} {
		if got := key(c.src) == same; got != c.same {
			t.Errorf("%s: same %v, want %v", c.src, got, c.same)
		}
	}
	a := key(`SignificantAttributes = {"kind"}; kind = 1; Rank = 1;`)
	if b := key(`SignificantAttributes = {"kind"}; kind = 1; Rank = 2;`); a != b {
		t.Errorf("SignificantAttributes: %s and %s", a, b)
	}
}
