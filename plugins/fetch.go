package plugins

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

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

// Deepest is how many directories deep the files of a job are looked for, on this machine and at clusters.
const Deepest = 100

// TooDeep reports whether a directory, by its name relative to the job's, lies deeper than is looked into.
func TooDeep(dir string) bool { return strings.Count(dir, "/") >= Deepest }

// OfOneFile reports whether an error of a file that was to be read or written says nothing of a job's other files.
func OfOneFile(err error) bool {
	for _, of := range []error{ErrNoRoom, fs.ErrPermission, fs.ErrNotExist, fs.ErrExist, syscall.ENOTDIR, syscall.EISDIR, syscall.ENAMETOOLONG, syscall.EINVAL, syscall.ELOOP} {
		if errors.Is(err, of) {
			return true
		}
	}
	return false
}

const (
	fewNames = 5
	fewBytes = 300 // of each
)

// Few names the first of several files, in quotes, and tells how many more there are.
func Few(names []string) string {
	first := make([]string, min(len(names), fewNames))
	for i := range first {
		first[i] = names[i][:min(len(names[i]), fewBytes)]
	}
	text := fmt.Sprintf("%q", first)
	if n := len(names) - fewNames; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// longestName is what file systems take for the name of a file, in bytes.
const longestName = 255

// PartName is the name beside a file under which it grows until it is whole:
// the file's own with a suffix, and where that is too long a shorter one that
// no other file has.
func PartName(name, suffix string) string {
	dir, base := path.Split(name)
	if len(base)+len(suffix) <= longestName {
		return name + suffix
	}
	sum := sha256.Sum256([]byte(name))
	return dir + base[:longestName/2] + "-" + hex.EncodeToString(sum[:16]) + suffix
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
	_, missing := outputs(job, left)
	return missing
}

// LeftNothing reports whether a job left none of the files it was to leave,
// of which its standard streams count only where it was to leave nothing
// else; and which.
func LeftNothing(job *jdl.Job, left []string) (missing []string, nothing bool) {
	there, missing := outputs(job, left)
	stream := func(name string) bool { return name == job.StdOutput || name == job.StdError }
	products := slices.DeleteFunc(slices.Clone(missing), stream)
	if len(products) == 0 {
		return missing, len(missing) > 0 && len(there) == 0
	}
	return products, !slices.ContainsFunc(there, func(name string) bool { return !stream(name) })
}

// outputs divides the files a job was to leave, named without a pattern, into
// those that are there and those that are missing.
func outputs(job *jdl.Job, left []string) (there, missing []string) {
	has := make(map[string]bool, len(left))
	for _, name := range left {
		has[path.Clean(name)] = true
	}
	for _, f := range job.Outputs() {
		name := path.Clean(f.Name)
		isDir := slices.ContainsFunc(left, func(n string) bool { return strings.HasPrefix(n, name+"/") })
		switch {
		case f.DestURL != "" || f.IsPattern() || path.IsAbs(name): // not to be told
		case has[name] || isDir:
			there = append(there, f.Name)
		default:
			missing = append(missing, f.Name)
		}
	}
	return there, missing
}
