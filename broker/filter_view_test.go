package broker

import (
	"testing"

	"gridbroker/glue"
	"gridbroker/jdl"
)

// A member of a VO that has a view of its own uses that, others the whole.
func TestViewFilter(t *testing.T) {
	whole := &glue.Resource{Views: []string{"atlas"}, Access: []string{"VO:atlas", "VO:cms"}}
	for vo, rejected := range map[string]bool{"atlas": true, "ATLAS": true, "cms": false, "": false} {
		r := Rules{Identity: Identity{VO: vo}}
		if got := r.view(&jdl.Job{}, whole) != nil; got != rejected {
			t.Errorf("VO %q: rejected %v, want %v", vo, got, rejected)
		}
	}
	fqan := Rules{Identity: Identity{FQANs: []string{"/atlas/Role=pilot"}}}
	if fqan.view(&jdl.Job{}, whole) == nil {
		t.Error("an FQAN of the VO was let through to the whole")
	}
}
