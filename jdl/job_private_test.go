package jdl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPrivateInputs: whose description takes a secret by a link or out of a hidden
// directory, its user is told; what it says openly, he is not.
func TestPrivateInputs(t *testing.T) {
	top := t.TempDir()
	for name, mode := range map[string]os.FileMode{"me/.ssh/id_rsa": 0o600, "me/.ssh/id_rsa.pub": 0o644, "me/private.dat": 0o600, "real/own.dat": 0o600} {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"real/a.txt": "../me/private.dat", "real/b.txt": "inner", "real/inner": top + "/me/.ssh/id_rsa",
		"real/c.txt": "own.dat", "real/d.txt": top + "/me/.ssh/id_rsa.pub", "real/up": top + "/me", "shared": "real"} {
		if err := os.Symlink(to, filepath.Join(top, name)); err != nil {
			t.Fatal(err)
		}
	}
	for input, want := range map[string]string{
		"own.dat":                           "",
		"c.txt":                             "",
		"d.txt":                             "",
		top + "/me/private.dat":             "",
		top + "/shared/own.dat":             "",
		"../me/private.dat":                 "",
		"a.txt":                             "/me/private.dat",
		"b.t*":                              "/me/.ssh/id_rsa",
		"up/private.dat":                    "/me/private.dat",
		top + "/me/.ssh/id_rsa":             "/me/.ssh/id_rsa",
		"file://" + top + "/me/.ssh/id_rsa": "/me/.ssh/id_rsa",
	} {
		job, err := ParseJob("j.jdl", []byte(`Executable = "/bin/x"; InputSandbox = {"`+input+`"};`), WithDir(top+"/shared"))
		if err != nil {
			t.Fatalf("%s: %v", input, err)
		}
		said := ""
		for _, w := range job.Warnings {
			said += w.Error()
		}
		if want != "" {
			want = top + want + ", which nobody but its owner may read"
		}
		if !strings.Contains(said, want) || want == "" && said != "" {
			t.Errorf("%s: %q, want %q", input, said, want)
		}
	}
}
