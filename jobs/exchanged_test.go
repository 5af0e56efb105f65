package jobs_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

// exchanging is a back-end after whose work somebody puts a link to another directory in the place of the job's.
type exchanging struct {
	*fetchFake
	to string
}

func (e *exchanging) Fetch(ctx context.Context, reqs []plugins.FetchRequest, p plugins.Progress) []plugins.FetchResult {
	for i := range reqs {
		reqs[i].Want = []string{"in.txt"}
	}
	out := e.fetchFake.Fetch(ctx, reqs, p)
	for i, q := range reqs {
		out[i].Files = []string{"in.txt", "out.txt"}
		if err := os.Rename(q.Dir, q.Dir+".was"); err != nil {
			out[i].Err = err
		} else if err := os.Symlink(e.to, q.Dir); err != nil {
			out[i].Err = err
		}
	}
	return out
}

// TestOutputDirectoryIsExchanged: where a link takes the place of a job's directory while output is brought, nothing behind it is
// renamed or removed as the job's, and the user is told.
func TestOutputDirectoryIsExchanged(t *testing.T) {
	t.Parallel()
	mine, work := t.TempDir(), t.TempDir()
	for _, at := range []string{filepath.Join(mine, "in.txt"), filepath.Join(mine, "out.txt"), filepath.Join(work, "in.txt")} {
		if err := os.WriteFile(at, []byte("made"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set, err := jdl.ParseJobs("j.jdl", []byte(`Executable = "/bin/1"; InputSandbox = {"in.txt"}; OutputSandbox = {"*", "out.txt"}; OutputSandboxDestFileName = {"", "renamed.txt"};`), jdl.WithDir(work))
	if err != nil {
		t.Fatal(err)
	}
	c := newChained(t, nil)
	c.Registry = registryOf(t, &exchanging{c.fake, mine})
	c.os = submit(t, c.Controller, []*glue.Resource{site("a")}, set)
	c.steps(2)
	if _, err := c.Output(context.Background(), c.os, jobs.Wanted{Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"in.txt", "out.txt"} {
		if _, err := os.Lstat(filepath.Join(mine, name)); err != nil {
			t.Error(err)
		}
	}
	if err := c.os[0].Err; err == nil || !strings.Contains(err.Error(), "is a link") {
		t.Errorf("%v", err)
	}
}
