package plugins

import (
	"path"

	"gridbroker/jdl"
)

// Wanted reports whether an output file, named relative to the job's
// directory, is one of the names or globs. The name of a directory takes all
// below it.
func Wanted(name string, patterns []string) bool {
	for _, p := range patterns {
		if (jdl.OutputFile{Name: path.Clean(p)}).Match(name) {
			return true
		}
	}
	return false
}

// OutputNames lists the names and globs of the files a job leaves for the user.
func OutputNames(job *jdl.Job) []string {
	var names []string
	for _, f := range job.Outputs() {
		names = append(names, f.Name)
	}
	return names
}
