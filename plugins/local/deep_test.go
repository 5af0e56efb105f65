package local_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gridbroker/plugins"
	"gridbroker/plugins/local"
)

// TestDeepOutput: a job that leaves directories in each other without end keeps neither its
// other files back nor who brings them; a look at a directory costs as many steps as it lies deep.
func TestDeepOutput(t *testing.T) {
	b := newBackend(t, local.Site{Name: "a"})
	h := submit(t, b, request("a", "j", shell("echo a >a; echo z >z; pwd")))[0]
	wait(t, b, h, plugins.State.Final)
	work, err := os.OpenRoot(strings.TrimSpace(fetched(t, b, h, "out")))
	check(t, err)
	defer work.Close()
	deep := strings.Repeat("deep/", plugins.Deepest)
	check(t, work.MkdirAll(deep+"er", 0o700))
	check(t, work.WriteFile(deep+"just", nil, 0o600))
	check(t, work.WriteFile(deep+"er/f", nil, 0o600))
	for _, want := range [][]string{{"*"}, {"a", "z"}} {
		r := b.Fetch(context.Background(), []plugins.FetchRequest{{Handle: h, Dir: t.TempDir(), Want: want}}, nil)[0]
		all := want[0] == "*"
		told := r.Err != nil && strings.Contains(r.Err.Error(), "directories deep")
		if told != all || !slices.Contains(r.Files, "z") || slices.Contains(r.Files, deep+"just") != all || slices.Contains(r.Files, deep+"er/f") {
			t.Errorf("%q: brought %d files, %v", want, len(r.Files), r.Err)
		}
	}
	if r := b.List(context.Background(), []plugins.Handle{h})[0]; r.Err == nil || !slices.Contains(r.Files, "z") || slices.Contains(r.Files, deep+"er/f") {
		t.Errorf("listed %d files, %v", len(r.Files), r.Err)
	}
}

// TestPlaceThatIsTaken: what an earlier fetch has brought may stand where a job has now a
// directory, or the other way round. The other files come.
func TestPlaceThatIsTaken(t *testing.T) {
	b := newBackend(t, local.Site{Name: "a"})
	h := submit(t, b, request("a", "j", shell("mkdir d; echo x >d/x; echo f >f; echo z >z")))[0]
	wait(t, b, h, plugins.State.Final)
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "d"), nil, 0o600))
	check(t, os.MkdirAll(filepath.Join(dir, "f", "x"), 0o700))
	r := b.Fetch(context.Background(), []plugins.FetchRequest{{Handle: h, Dir: dir, Want: []string{"d", "f", "z"}}}, nil)[0]
	if r.Err == nil || !strings.Contains(r.Err.Error(), "d/x") || !strings.Contains(r.Err.Error(), "1 more") || !slices.Equal(r.Files, []string{"z"}) {
		t.Errorf("brought %q, %v", r.Files, r.Err)
	}
}
