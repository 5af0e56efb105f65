package jdl

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"gridbroker/testdata/testbed"
)

// TestDirectoriesOfInput: a directory goes along with all files below it, under its
// own name or another, also once the description is recorded.
func TestDirectoriesOfInput(t *testing.T) {
	top := t.TempDir()
	for name, mode := range map[string]os.FileMode{"data/a": 0o644, "data/sub/tool": 0o755, "data/.hidden": 0o644, "b": 0o644} {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"data/link": "a", "named": "data"} {
		if err := os.Symlink(to, filepath.Join(top, name)); err != nil {
			t.Fatal(err)
		}
	}
	list := func(j *Job) string {
		var out []string
		for _, f := range j.InputSandbox {
			out = append(out, fmt.Sprintf("%s=%s%v", f.Name, strings.TrimPrefix(f.Source, top+"/"), f.Executable))
		}
		return strings.Join(out, " ")
	}
	for text, want := range map[string]string{
		`InputSandbox = {"data/", "b"};`:                             "data/.hidden=data/.hiddenfalse data/a=data/afalse data/link=data/linkfalse data/sub/tool=data/sub/tooltrue b=bfalse",
		`InputSandbox = "named";`:                                    "named/.hidden=named/.hiddenfalse named/a=named/afalse named/link=named/linkfalse named/sub/tool=named/sub/tooltrue",
		`InputSandbox = "data"; InputSandboxDestFileName = "in/x";`:  "in/x/.hidden=data/.hiddenfalse in/x/a=data/afalse in/x/link=data/linkfalse in/x/sub/tool=data/sub/tooltrue",
		`InputSandbox = "data/sub"; InputSandboxDestFileName = ".";`: "tool=data/sub/tooltrue",
	} {
		j, err := ParseJob("t.jdl", []byte(`Executable = "/bin/ls"; `+text), WithDir(top))
		if err != nil || list(j) != want || len(j.Warnings) > 0 {
			t.Errorf("%s: %v %v\n got %s\nwant %s", text, err, j.Warnings, list(j), want)
			continue
		}
		again, err := ParseJob("t.jdl", []byte(j.Text()), WithDir("/elsewhere"))
		if err != nil || list(again) != want {
			t.Errorf("%s, recorded: %v\n got %s", text, err, list(again))
		}
	}
	for _, c := range []struct{ name, to, want string }{
		{"up", ".", "the link up leads out of it, to " + top + "/data ("},
		{"away", "../b", "the link away leads out of it, to " + top + "/b (pack it (tar) and let the job unpack it)"},
		{"nowhere", "none", "nowhere: no such file or directory"},
		{"dir", "sub", "dir is neither file nor directory"},
	} {
		name := filepath.Join(top, "data", c.name)
		if err := os.Symlink(c.to, name); err != nil {
			t.Fatal(err)
		}
		_, err := ParseJob("t.jdl", []byte(`Executable = "/bin/ls"; InputSandbox = "data";`), WithDir(top))
		if want := "InputSandbox: data: " + c.want; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v\nwant %s", c.name, err, want)
		}
		os.Remove(name)
	}
}

// TestEmptyDirectories: where nothing is in a directory below one of the InputSandbox the others are brought all the
// same, and it is said what is not.
func TestEmptyDirectories(t *testing.T) {
	top := t.TempDir()
	for _, dir := range []string{"data/none/none", "data/some", "nothing"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(top, "data/some/a"), []byte("a"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"data/":   "data/some/a; InputSandbox: data/: directories without a file are not brought: 1, none/none among them",
		"nothing": "; InputSandbox: there are no files in nothing",
	} {
		j, err := ParseJob("t.jdl", []byte(`Executable = "/bin/ls"; InputSandbox = "`+name+`";`), WithDir(top))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, f := range j.InputSandbox {
			got = append(got, f.Name)
		}
		if len(j.Warnings) != 1 || strings.Join(got, " ")+"; "+j.Warnings[0].Msg != want {
			t.Errorf("%s: %q, %v\nwant %s", name, got, j.Warnings, want)
		}
	}
}

// TestBigDirectories: a directory of more files than can be sent one by one, or
// of more than can be looked at, is refused soon.
func TestBigDirectories(t *testing.T) {
	testbed.Computes(t)
	files := fstest.MapFS{}
	for i := range MaxTreeFiles + 1 {
		files[fmt.Sprintf("job/data/%d", i)] = &fstest.MapFile{}
	}
	_, err := ParseJob("t.jdl", []byte(`Executable = "/bin/ls"; InputSandbox = "data";`), WithDir("/job"), WithRoot(files))
	if err == nil || !strings.Contains(err.Error(), "data holds more than 5000 files") {
		t.Error(err)
	}
}
