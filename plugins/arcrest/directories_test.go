package arcrest

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/testdata/testbed"
)

// TestDirectoriesOfOutput: output and errors may go to directories that no input file is in, once each; the caller's
// descriptions stay as they are, and a submission that is completed makes the directories, too.
func TestDirectoriesOfOutput(t *testing.T) {
	var mu sync.Mutex
	var put []string
	f := newFake(t, func(_ http.ResponseWriter, r *http.Request, _ string) bool {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/session/") {
			mu.Lock()
			defer mu.Unlock()
			_, name, _ := strings.Cut(r.URL.Path, "/session/")
			put = append(put, name)
		}
		return false
	})
	in := filepath.Join(t.TempDir(), "in")
	write(t, in, []byte("x"))
	plain, one, two, there := shell("j1", "x"), shell("j2", "x"), shell("j3", "x"), shell("j4", "x")
	one.Job.StdOutput, one.Job.StdError = "logs/o", "logs/e"
	two.Job.StdOutput, two.Job.StdError = "a/b/o", "c/e"
	there.Job.StdOutput, there.Job.InputSandbox = "d/o", []jdl.InputFile{{Source: in, Name: "d/in"}}
	b, reqs := f.backend(t), at(f.url(), plain, one, two, there)
	var hs []plugins.Handle
	for _, r := range b.Submit(t.Context(), reqs, nil) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		hs = append(hs, r.Handle)
	}
	want := []string{"a/b/.grid", "c/.grid", "d/in", "logs/.grid"}
	if slices.Sort(put); !slices.Equal(put, want) {
		t.Errorf("sent %q, want %q", put, want)
	}
	if n := len(one.Job.InputSandbox) + len(two.Job.InputSandbox); n != 0 {
		t.Errorf("the caller's descriptions have %d input files more", n)
	}
	put = nil
	for _, err := range b.Complete(t.Context(), reqs[1:2], hs[1:2], nil) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(put, []string{"logs/.grid"}) {
		t.Errorf("completed by %q", put)
	}
}

// TestRealDirectoriesOfOutput: the same at a CE of each version.
func TestRealDirectoriesOfOutput(t *testing.T) {
	t.Parallel()
	bed := testbed.NeedARC(t)
	for _, url := range bed.Versions() {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			b := as(t, bed, "alice")
			req := shell(fmt.Sprintf("d%d", time.Now().UnixNano()), "echo out; echo err >&2")
			req.Job.StdOutput, req.Job.StdError = "logs/a/o.txt", "logs/e.txt"
			hs := submit(t, b, at(url, req))
			if st := await(t, b, hs)[0]; st.State != plugins.Done || st.ExitCode.V != 0 {
				t.Errorf("%+v", st)
			}
			dir := t.TempDir()
			if res := b.Fetch(t.Context(), []plugins.FetchRequest{{Handle: hs[0], Dir: dir}}, nil)[0]; res.Err != nil {
				t.Fatal(res.Err)
			}
			same(t, filepath.Join(dir, "logs", "a", "o.txt"), []byte("out\n"))
			same(t, filepath.Join(dir, "logs", "e.txt"), []byte("err\n"))
		})
	}
}
