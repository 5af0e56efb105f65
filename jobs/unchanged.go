package jobs

import (
	"bytes"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"

	"gridbroker/durable"
	"gridbroker/jdl"
)

// A job whose outputs are all that it makes has its input files among them. What it did not change
// is no output: it is here already.

// dropUnchanged takes the files out of what was brought that are as the job was given them, and that
// nothing but "all files" asks for. Where an input file is not here any more, or is another one by
// now, what was brought stays.
func (s *source) dropUnchanged() {
	job, err := s.Job()
	if err != nil || len(s.files) == 0 {
		return // nothing has come, and what has the directory's name may be no directory
	}
	root, err := durable.OpenOwn(s.dir)
	if err != nil {
		return
	}
	defer root.Close()
	for _, in := range job.InputSandbox {
		name := path.Clean(in.Name)
		if in.IsURL() || !slices.Contains(s.files, name) || !onlyAsAll(job, name) || !sameAs(root, name, in.Source) {
			continue
		}
		if root.Remove(filepath.FromSlash(name)) != nil {
			continue
		}
		s.files = slices.DeleteFunc(s.files, func(f string) bool { return f == name })
		for dir := path.Dir(name); dir != "." && root.Remove(dir) == nil; dir = path.Dir(dir) { // which is empty now
		}
	}
}

// onlyAsAll tells whether a file is an output only because all files are.
func onlyAsAll(job *jdl.Job, name string) bool {
	all := false
	for _, out := range job.Outputs() {
		switch {
		case out.Name == "*":
			all = true
		case out.Match(name):
			return false
		}
	}
	return all
}

// sameAs tells whether a file of the output is byte for byte the one that the job was given, and not
// that very file.
func sameAs(root *os.Root, name, given string) bool {
	got, err := root.Open(name)
	if err != nil {
		return false
	}
	defer got.Close()
	was, err := os.Open(given)
	if err != nil {
		return false
	}
	defer was.Close()
	a, err := got.Stat()
	if err != nil {
		return false
	}
	b, err := was.Stat()
	return err == nil && a.Size() == b.Size() && b.Mode().IsRegular() && !os.SameFile(a, b) && equal(got, was)
}

// equal compares what is left to read.
func equal(a, b io.Reader) bool {
	const block = 1 << 16
	one, other := make([]byte, block), make([]byte, block)
	for {
		n, err := io.ReadFull(a, one)
		m, _ := io.ReadFull(b, other)
		if n != m || !bytes.Equal(one[:n], other[:m]) {
			return false
		}
		if err != nil {
			return err == io.EOF || err == io.ErrUnexpectedEOF
		}
	}
}
