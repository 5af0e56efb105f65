package jdl

import (
	"slices"
	"strings"

	"gridbroker/jdl/classad"
)

// GPUTag begins the runtime environment that stands for a type of GPU: "gpu:a100". What follows is the type as a
// Slurm has it in its Gres, blanks of a device's name as "_". As all environments it is matched whatever its case.
const GPUTag = "gpu:"

// GPUTypes parts runtime environments: types of GPUs, without GPUTag, and the others.
func GPUTypes(tags []string) (types, others []string) {
	for _, tag := range tags {
		if n := len(GPUTag); len(tag) > n && classad.EqualFold(tag[:n], GPUTag) {
			types = append(types, tag[n:])
		} else {
			others = append(others, tag)
		}
	}
	return types, others
}

// GPUsOfType is how many GPUs of each of so many types a job asks for that wants n on the whole: as many of each, at
// least one.
func GPUsOfType(n, types int) int {
	types = max(1, types)
	return max(1, (n+types-1)/types)
}

// gpuModel reads GPUModel, CREAM's type of the job's GPUs, of which there is one where GPUNumber does not say more.
func gpuModel(r *jobReader) {
	d := &r.job.Demand
	model := strings.Join(strings.Fields(r.str("GPUModel")), "_")
	if model == "" || r.has("GPUNumber") && d.GPUs == 0 {
		return
	}
	if strings.ContainsAny(model, `<>=!"'`) {
		r.failAttr("GPUModel", "gpu", "", "%q is no type of GPU", model)
		return
	}
	d.GPUs = max(d.GPUs, 1)
	if tag := GPUTag + model; !slices.ContainsFunc(d.RuntimeEnvironments, func(t string) bool { return classad.EqualFold(t, tag) }) {
		askEnvironment(r, "GPUModel", tag)
	}
}
