package arcrest

import "testing"

// TestReasonsAreToldOnce: what A-REX writes twice of how a job ended is told once, on one line.
func TestReasonsAreToldOnce(t *testing.T) {
	const external = "Job is canceled by external request"
	for text, want := range map[string]string{"": "", " one\n": "one", "one\n\ntwo\none\n": "one; two", external + "\n" + external + "\n": external} {
		if got := oncePerLine(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
