package slurm

import (
	"slices"
	"strings"
	"testing"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
)

// TestTypesOfGPUs: a type of GPU is published as a runtime environment; a job that asks for it asks Slurm for
// GPUs of that type, and not for a feature, which no node has by that name.
func TestTypesOfGPUs(t *testing.T) {
	var r glue.Resource
	describe(&r, records("NodeName=n1 CPUTot=8 RealMemory=16000 Gres=gpu:a100:4(S:0-1) ActiveFeatures=ib Partitions=p State=IDLE\n"+
		"NodeName=n2 CPUTot=8 RealMemory=16000 Gres=gpu:v100:2 Partitions=p State=IDLE\n"+
		"NodeName=n3 CPUTot=8 RealMemory=16000 Gres=gpu:t4:2 Partitions=q State=IDLE\n"), "p")
	if got := strings.Join(r.RuntimeEnvironments, " "); got != "gpu:a100 gpu:v100 ib" {
		t.Errorf("published: %s", got)
	}
	for _, c := range []struct {
		gpus, nodes      int
		tags             []string
		gres, constraint string
	}{
		{2, 0, []string{"gpu:a100", "ib"}, "--gres=gpu:a100:2", "--constraint=ib"},
		{0, 0, []string{"GPU:V100"}, "--gres=gpu:v100:1", ""},
		{1, 0, []string{"gpu:a100", "gpu:v100"}, "--gres=gpu:a100:1,gpu:v100:1", ""},
		{3, 1, []string{"ib"}, "--gres=gpu:3", "--constraint=ib"},
		{4, 2, []string{"gpu:a100"}, "--gres=gpu:a100:2", ""}, // as many in both as the job has in all
		{5, 2, nil, "--gres=gpu:3", ""},
		{4, 0, []string{"gpu:a100", "gpu:v100"}, "--gres=gpu:a100:2,gpu:v100:2", ""},
		{0, 2, []string{"ib"}, "", "--constraint=ib"},
	} {
		args, err := sbatchArgs(plugins.Request{Job: &jdl.Job{Demand: jdl.Demand{GPUs: c.gpus, Nodes: c.nodes, RuntimeEnvironments: c.tags}}, Resource: &r}, nil)
		one := func(option string) string {
			if i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, option) }); i >= 0 {
				return args[i]
			}
			return ""
		}
		if err != nil || one("--gres") != c.gres || one("--constraint") != c.constraint {
			t.Errorf("%d of %d nodes, %v: %q, %v", c.gpus, c.nodes, c.tags, args, err)
		}
	}
}
