package arcrest

import (
	"testing"

	"gridbroker/glue"
	"gridbroker/plugins"
)

// TestReasonsAreToldOnce: what A-REX writes twice of how a job ended is told once, on one line.
func TestReasonsAreToldOnce(t *testing.T) {
	const external = "Job is canceled by external request"
	for text, want := range map[string]string{"": "", " one\n": "one", "one\n\ntwo\none\n": "one; two", external + "\n" + external + "\n": external} {
		if got := oncePerLine(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestExitCodesAreNoErrors: a job that ran to its end has its exit code, and no words of an error of the batch system beside it; what
// says more than the code stays.
func TestExitCodesAreNoErrors(t *testing.T) {
	for reason, want := range map[string]struct {
		state plugins.State
		said  string
	}{
		"LRMS error: (3) Job finished with wrong exit code - 3 != 0":            {plugins.Done, ""},
		"LRMS error: (3) Job finished with wrong exit code":                     {plugins.Done, ""},
		"LRMS error: (3) Job finished with wrong exit code - 3 != 0; disk full": {plugins.Done, "LRMS error: (3) Job finished with wrong exit code - 3 != 0; disk full"},
		"LRMS error: (3) Job failed out of memory":                              {plugins.Done, "LRMS error: (3) Job failed out of memory"},
		"LRMS error: (-1) Job finished with wrong exit code":                    {plugins.Failed, "LRMS error: (-1) Job finished with wrong exit code"},
	} {
		st := &plugins.Status{State: plugins.Failed, Reason: reason, ExitCode: glue.Some(3)}
		settle(st)
		if st.State != want.state || st.Reason != want.said {
			t.Errorf("%s: %s, %q", reason, st.State, st.Reason)
		}
	}
}
