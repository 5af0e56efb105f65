package arcrest

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/testdata/testbed"
)

// TestRealArguments: every argument arrives as it is, between a prologue and an
// epilogue that run too; the exit code is the program's.
func TestRealArguments(t *testing.T) {
	t.Parallel()
	bed := testbed.NeedARC(t)
	for _, url := range bed.Versions() {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			b := as(t, bed, "alice")
			req := shell(fmt.Sprintf("a%d", time.Now().UnixNano()), "")
			j := req.Job
			j.Args = []string{"-c", `echo "$E" >e.dat; printf '<%s>' "$@"; exit 3`, "sh", "$HOME", "`id`", "$(id)", `\n"'`, "*", "", "two  words"}
			j.Environment = []jdl.EnvVar{{Name: "E", Value: `$HOME "'\`}}
			j.Prologue, j.PrologueArgs = "/bin/echo", []string{"$before"}
			j.Epilogue, j.EpilogueArgs = "/bin/echo", []string{"", "after"}
			j.OutputSandbox = []jdl.OutputFile{{Name: "*.dat"}}
			hs := submit(t, b, at(url, req))
			st := await(t, b, hs)[0]
			if st.ExitCode.V != 3 {
				t.Errorf("%+v", st)
			}
			dir := t.TempDir()
			if res := b.Fetch(t.Context(), []plugins.FetchRequest{{Handle: hs[0], Dir: dir}}, nil)[0]; res.Err != nil {
				t.Fatal(res.Err)
			}
			same(t, filepath.Join(dir, "out.txt"), []byte("$before\n<$HOME><`id`><$(id)><"+`\n"'`+"><*><><two  words> after\n"))
			same(t, filepath.Join(dir, "e.dat"), []byte(`$HOME "'\`+"\n"))
		})
	}
}
