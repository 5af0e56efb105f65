package arcrest

import (
	"slices"

	"gridbroker/jdl"
	"gridbroker/jdl/arex"
	"gridbroker/plugins"
)

// withDirectories are the requests with one more input file for each directory that standard output or errors go to and
// that no input file is in: A-REX makes the directories of input files alone, and its job script fails without them.
func withDirectories(reqs []plugins.Request) []plugins.Request {
	out := reqs
	for i := range reqs {
		job := *reqs[i].Job
		for _, name := range []string{job.StdOutput, job.StdError} {
			if dir := arex.Unmade(&job, name); dir != "" {
				job.InputSandbox = append(slices.Clip(job.InputSandbox), jdl.InputFile{Name: dir + "/.grid", Text: "\n"})
			}
		}
		if len(job.InputSandbox) == len(reqs[i].Job.InputSandbox) {
			continue
		}
		if &out[0] == &reqs[0] {
			out = slices.Clone(reqs)
		}
		out[i].Job = &job
	}
	return out
}
