package formats

import (
	"os"
	"path/filepath"
	"testing"

	"gridbroker/jdl"
	"gridbroker/jdl/adl"
	"gridbroker/jdl/condor"
	"gridbroker/jdl/xrsl"
)

// TestCorpusThereAndBack writes every job that people wrote in each language
// that can be read, reads it and writes it again: the text is the same.
func TestCorpusThereAndBack(t *testing.T) {
	dir := os.Getenv("GRID_TESTDATA")
	paths, _ := filepath.Glob(filepath.Join(dir, "jdl-corpus", "*.jdl"))
	if dir == "" || len(paths) == 0 {
		t.Skip("GRID_TESTDATA names no directory with jdl-corpus")
	}
	writers := map[Format]func(*jdl.Job) ([]byte, error){
		ADL:    func(j *jdl.Job) ([]byte, error) { return adl.Write(j, adl.Options{Lossy: true, Alone: true}) },
		XRSL:   func(j *jdl.Job) ([]byte, error) { return xrsl.Write(j, xrsl.Options{Lossy: true}) },
		Condor: func(j *jdl.Job) ([]byte, error) { return condor.Write(j, condor.Options{Lossy: true}) },
	}
	options := []jdl.Option{jdl.WithoutFiles(), jdl.WithRoot(allFiles{}), jdl.WithDir("/job")}
	written := map[Format]int{}
	for _, path := range paths {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		set, err := ParseJobs(path, src, options...)
		if err != nil {
			continue // what is refused is checked elsewhere
		}
		for f, write := range writers {
			first, err := write(set.Jobs[0])
			if err != nil {
				continue // nor can everything be said
			}
			j, err := parseJob(path, first, options...)
			if err != nil {
				t.Errorf("%s as %s: %v\n%s", filepath.Base(path), f, err, first)
				continue
			}
			second, err := write(j)
			if err != nil || string(second) != string(first) {
				t.Errorf("%s as %s: %v\n%s\nbecame\n%s", filepath.Base(path), f, err, first, second)
			}
			written[f]++
		}
	}
	for f := range writers {
		if written[f] < 20 {
			t.Errorf("only %d files could be written as %s", written[f], f)
		}
	}
}
