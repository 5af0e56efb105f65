package arcrest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/testdata/testbed"
)

// A submission ends between the answer to the POST and the uploads. Its job
// is found by our id, completed, and runs.
func TestRealComplete(t *testing.T) {
	bed := testbed.NeedARC(t)
	input := filepath.Join(t.TempDir(), "in.txt")
	if err := os.WriteFile(input, []byte("late but whole\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := as(t, bed, "alice")
	for _, url := range bed.All() {
		reqs := at(url, shell(fmt.Sprintf("1m0cut%d", time.Now().UnixNano()), "cat in.txt"))
		reqs[0].Job.InputSandbox = []jdl.InputFile{{Source: input, Name: "in.txt"}}
		c, err := b.client("submit", url, "")
		if err != nil {
			t.Fatal(err)
		}
		s := &submission{c: c, reqs: reqs, res: make([]plugins.Result, 1)}
		if _, err := s.make(t.Context(), []int{0}, s.describeAll("")); err != nil {
			t.Fatal(err)
		}
		found, err := b.Find(t.Context(), glue.Endpoint{URL: url}, []string{reqs[0].ID})
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: found %v, %v", url, found, err)
		}
		hs := []plugins.Handle{found[reqs[0].ID]}
		defer b.Clean(t.Context(), hs)
		if errs := b.Complete(t.Context(), reqs, hs, nil); errs[0] != nil {
			t.Fatal(errs[0])
		}
		if st := await(t, b, hs)[0]; st.State != plugins.Done {
			t.Errorf("%s: %s %s", url, st.State, st.Reason)
		}
		dir := t.TempDir()
		if r := b.Fetch(t.Context(), []plugins.FetchRequest{{Handle: hs[0], Dir: dir}}, nil)[0]; r.Err != nil {
			t.Fatal(r.Err)
		}
		if text, err := os.ReadFile(filepath.Join(dir, "out.txt")); string(text) != "late but whole\n" {
			t.Errorf("%s: out.txt %q, %v", url, text, err)
		}
	}
}
