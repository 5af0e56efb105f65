package arcrest

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/testdata/testbed"
)

// A submission ends between the answer to the POST and the uploads. Its jobs
// are found by our ids, completed, and run; what they write comes back.
func TestRealComplete(t *testing.T) {
	t.Parallel()
	bed := testbed.NeedARC(t)
	input := filepath.Join(t.TempDir(), "in.txt")
	write(t, input, []byte("late but whole\n"))
	for _, url := range bed.All() {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			b := as(t, bed, "alice")
			reqs := make([]plugins.Request, 5)
			ids := make([]string, len(reqs))
			for i := range reqs {
				ids[i] = fmt.Sprintf("1m0cut%d-%d", time.Now().UnixNano(), i)
				reqs[i] = shell(ids[i], "cat in.txt")
				reqs[i].Job.InputSandbox = []jdl.InputFile{{Source: input, Name: "in.txt"}}
			}
			reqs = at(url, reqs...)
			hs := cutSubmission(t, b, url, reqs)
			found := findLater(t, b, url, ids)
			for i, id := range ids {
				if found[id] != hs[i] {
					t.Errorf("%s: found %v, made %v", id, found[id], hs[i])
				}
			}
			for _, err := range b.Complete(t.Context(), reqs, hs, nil) {
				check(t, err)
			}
			for i, st := range await(t, b, hs) {
				if st.State != plugins.Done || st.ExitCode != glue.Some(0) {
					t.Errorf("%s: %s (%s), exit code %v, %s", hs[i].ID, st.State, st.Native, st.ExitCode, st.Reason)
				}
				dir := t.TempDir()
				check(t, b.Fetch(t.Context(), []plugins.FetchRequest{{Handle: hs[i], Dir: dir}}, nil)[0].Err)
				same(t, filepath.Join(dir, "out.txt"), []byte("late but whole\n"))
			}
		})
	}
}

// findLater looks jobs up as reconciling does: where they cannot be told yet, again.
func findLater(t *testing.T, b *Backend, url string, ids []string) map[string]plugins.Handle {
	t.Helper()
	for until := time.Now().Add(2 * time.Minute); ; {
		found, err := b.Find(t.Context(), glue.Endpoint{URL: url}, ids)
		if e, ok := errors.AsType[*plugins.Error](err); ok && e.Kind == plugins.Unavailable && time.Now().Before(until) {
			continue
		}
		check(t, err)
		return found
	}
}

// cutSubmission makes jobs and uploads nothing; they are removed at the end.
func cutSubmission(t *testing.T, b *Backend, url string, reqs []plugins.Request) []plugins.Handle {
	t.Helper()
	c, err := b.client(t.Context(), "submit", url, "")
	check(t, err)
	s := &submission{c: c, reqs: reqs, res: make([]plugins.Result, len(reqs))}
	all := make([]int, len(reqs))
	for i := range all {
		all[i] = i
	}
	_, err = s.make(t.Context(), all, s.describeAll(""))
	check(t, err)
	var hs []plugins.Handle
	for _, r := range s.res {
		if r.Err == nil {
			hs = append(hs, r.Handle)
		}
	}
	removeLater(t, b, hs)
	return hs
}
