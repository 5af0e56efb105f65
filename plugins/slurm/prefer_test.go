package slurm

import (
	"slices"
	"testing"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
)

// A node that has the image already is preferred, and never required.
func TestCachedNodesArePreferred(t *testing.T) {
	req := plugins.Request{Job: &jdl.Job{Demand: jdl.Demand{RuntimeEnvironments: []string{"VEE-A"}}},
		Resource: &glue.Resource{RuntimeEnvironments: []string{"VEE-A", "VEE-A.cached"}}}
	args, err := sbatchArgs(req, nil)
	if err != nil || !slices.Contains(args, "--constraint=VEE-A") || !slices.Contains(args, "--prefer=VEE-A.cached") {
		t.Errorf("%q, %v", args, err)
	}
	req.Resource.RuntimeEnvironments = []string{"VEE-A"}
	if args, _ = sbatchArgs(req, nil); slices.Contains(args, "--prefer=VEE-A.cached") {
		t.Errorf("%q", args)
	}
}
