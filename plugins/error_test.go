package plugins_test

import (
	"errors"
	"testing"

	"gridbroker/plugins"
)

// An address that ends in a colon has no second one behind it.
func TestErrorText(t *testing.T) {
	for endpoint, want := range map[string]string{
		"slurm:": "squeue slurm: down", "slurm:/base": "squeue slurm:/base: down", "https://ce.example.org/arex": "squeue https://ce.example.org/arex: down",
	} {
		if got := (&plugins.Error{Kind: plugins.Unavailable, Op: "squeue", Endpoint: endpoint, Err: errors.New("down")}).Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
