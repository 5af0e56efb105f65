package plugins

import (
	"path"
	"slices"
	"strings"

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

// MissingOutputs lists the files, named without a pattern, that a job was to
// leave for the user and that are not among those it left.
func MissingOutputs(job *jdl.Job, left []string) []string {
	there := make(map[string]bool, len(left))
	for _, name := range left {
		there[path.Clean(name)] = true
	}
	var missing []string
	for _, f := range job.Outputs() {
		name := path.Clean(f.Name)
		inside := f.DestURL == "" && !f.IsPattern() && !path.IsAbs(name)
		isDir := slices.ContainsFunc(left, func(n string) bool { return strings.HasPrefix(n, name+"/") })
		if inside && !there[name] && !isDir {
			missing = append(missing, f.Name)
		}
	}
	return missing
}
