package jdl

import (
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"
)

// silent are files of which one says nothing and never ends, as some of the kernel's do that it calls regular.
type silent struct{ fstest.MapFS }

// Open implements fs.FS.
func (s silent) Open(name string) (fs.File, error) {
	f, err := s.MapFS.Open(name)
	if strings.HasSuffix(name, "silent") {
		f = silentFile{f}
	}
	return f, err
}

type silentFile struct{ fs.File }

// Read implements io.Reader.
func (silentFile) Read([]byte) (int, error) {
	time.Sleep(time.Hour)
	return 0, io.EOF
}

// TestSilentFiles: a file that says nothing keeps nobody waiting who reads a description that names it.
func TestSilentFiles(t *testing.T) {
	t.Parallel()
	root := silent{fstest.MapFS{"job/silent": {Data: []byte("x")}}}
	for _, text := range []string{`[ Type = "Collection"; Nodes = { [ File = "silent" ] } ]`, `Executable = "/bin/true"; InputSandbox = {"silent"};`} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			_, err := ParseJobs("all.jdl", []byte(text), WithRoot(root), WithDir("/job"))
			if strings.Contains(text, "File") != (err != nil && strings.Contains(err.Error(), "nothing came of it for 10s")) {
				t.Errorf("%s: %v", text, err)
			}
			if took := time.Since(began); took > time.Minute {
				t.Errorf("%s: %v", text, took)
			}
			time.Sleep(2 * time.Hour) // until nothing reads any more
		})
	}
}
