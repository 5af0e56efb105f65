package sbatch

import (
	"strings"

	"gridbroker/jdl"
)

// deployed begins the tags of environments that a cluster deploys when a job asks; other tags are software of its own.
const deployed = "VEE-"

// split parts the job's runtime environments into those the script enters and those it cannot ask for.
func split(j *jdl.Job) (entered, other []string) {
	_, tags := jdl.GPUTypes(j.Demand.RuntimeEnvironments)
	for _, tag := range tags {
		if isDeployed(tag) && jdl.ParseEnvironmentWish(tag).Op == "" {
			entered = append(entered, tag)
		} else {
			other = append(other, tag)
		}
	}
	return entered, other
}

// isDeployed reports whether a tag is that of an environment a cluster deploys.
func isDeployed(tag string) bool {
	return len(tag) > len(deployed) && strings.EqualFold(tag[:len(deployed)], deployed)
}

// enter finds which of the tags is an environment of the node. The job's programs run inside by grid-launch, the
// project's program on the nodes; a node that has none of them ends the job.
func (w *sbatchWriter) enter() {
	tags, _ := split(w.job)
	if len(tags) == 0 {
		return
	}
	words := make([]string, len(tags))
	for i, tag := range tags {
		words[i] = w.quote(tag)
	}
	list := strings.Join(words, " ")
	w.line("inside=$(grid-launch which", w.image()+list+") && [ -n \"$inside\" ] || { echo 'this node has none of the environments:'", list, ">&2; exit 125; }")
}

// entered is a command line as it runs: inside the environment, with the job's variables, where it asks for one. The
// job's directory is seen at another place there, but is the working directory still.
func (w *sbatchWriter) entered(words []string) string {
	line := strings.Join(words, " ")
	if tags, _ := split(w.job); len(tags) == 0 {
		return line
	}
	names := []string{"SLURM_JOB_ID", "SLURM_NTASKS", "CUDA_VISIBLE_DEVICES"}
	for _, v := range w.job.Environment {
		names = append(names, v.Name)
	}
	return "grid-launch run " + w.image() + "--env " + strings.Join(names, " --env ") + " \"$inside\" -- " + line
}

// image is the option of grid-launch for an image that the job brings.
func (w *sbatchWriter) image() string {
	if image := w.job.UserImage(); image != "" {
		return "--image " + w.quote(image) + " "
	}
	return ""
}
