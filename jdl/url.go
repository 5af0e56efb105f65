package jdl

import (
	"slices"
	"strings"

	"gridbroker/jdl/classad"
)

// catalogueSchemes are the prefixes of logical file names, which have no "//".
var catalogueSchemes = []string{"lfn", "guid", "si-lfn", "si-guid"}

// fileURL begins a file: URL (RFC 8089).
const fileURL = "file://"

func isFileURL(s string) bool {
	return len(s) >= len(fileURL) && classad.EqualFold(s[:len(fileURL)], fileURL)
}

// isURL reports whether s is a URL, or a logical name with its prefix.
func isURL(s string) bool {
	scheme, rest, ok := strings.Cut(s, ":")
	if !ok {
		return false
	}
	for _, c := range catalogueSchemes {
		if classad.EqualFold(scheme, c) {
			return true
		}
	}
	return strings.HasPrefix(rest, "//") && isScheme(scheme)
}

// isScheme reports whether s is letters, digits, + - and . after a letter
// (RFC 3986 section 3.1).
func isScheme(s string) bool {
	for i, c := range []byte(s) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		other := c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'
		if !letter && (i == 0 || !other) {
			return false
		}
	}
	return s != ""
}

// IsLogical reports whether a scheme, in lower case, is that of logical names, which only a catalogue understands.
func IsLogical(scheme string) bool { return slices.Contains(catalogueSchemes, scheme) }

// FileSchemes lists the schemes, in lower case and sorted, of the URLs that the site is to fetch input files from and to send
// output files to.
func (j *Job) FileSchemes() (in, out []string) {
	for _, f := range j.InputSandbox {
		if f.IsURL() {
			in = append(in, schemeOf(f.Source))
		}
	}
	for _, f := range j.OutputSandbox {
		if f.DestURL != "" {
			out = append(out, schemeOf(f.DestURL))
		}
	}
	slices.Sort(in)
	slices.Sort(out)
	return slices.Compact(in), slices.Compact(out)
}

func schemeOf(url string) string {
	scheme, _, _ := strings.Cut(url, ":")
	return classad.Fold(scheme)
}

// LogicalLoss names the input files that are known by logical names alone, which no computing element looks up any more.
func (j *Job) LogicalLoss() (out []*classad.Diagnostic) {
	for _, f := range j.InputSandbox {
		if f.IsURL() && IsLogical(schemeOf(f.Source)) {
			out = append(out, j.Loss("InputSandbox", "name the URL of a replica, root:// or https://", "a computing element does not look up the logical name %s", f.Source))
		}
	}
	return out
}
