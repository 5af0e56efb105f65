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
		gpus             int
		tags             []string
		gres, constraint string
	}{
		{2, []string{"gpu:a100", "ib"}, "--gres=gpu:a100:2", "--constraint=ib"},
		{0, []string{"GPU:V100"}, "--gres=gpu:v100:1", ""},
		{1, []string{"gpu:a100", "gpu:v100"}, "--gres=gpu:a100:1,gpu:v100:1", ""},
		{3, []string{"ib"}, "--gres=gpu:3", "--constraint=ib"},
		{0, []string{"ib"}, "", "--constraint=ib"},
	} {
		args, err := sbatchArgs(plugins.Request{Job: &jdl.Job{Demand: jdl.Demand{GPUs: c.gpus, RuntimeEnvironments: c.tags}}, Resource: &r}, nil)
		one := func(option string) string {
			if i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, option) }); i >= 0 {
				return args[i]
			}
			return ""
		}
		if err != nil || one("--gres") != c.gres || one("--constraint") != c.constraint {
			t.Errorf("%d %v: %q, %v", c.gpus, c.tags, args, err)
		}
	}
}
