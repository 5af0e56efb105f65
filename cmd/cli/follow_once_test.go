package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"gridbroker/plugins"
)

// What a crontab calls tells by its exit code that jobs could not be asked about, as status does.
func TestFollowOnceTellsWhatItCouldNotAsk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "j.jdl"), []byte(`Executable = "/bin/true"; WallTime = 600;`), 0o600); err != nil {
		t.Fatal(err)
	}
	l := &liar{says: plugins.Status{State: plugins.Running}}
	atLiarIn(t, dir, l, "submit", "j.jdl")
	if code, _, errs := atLiarIn(t, dir, l, "follow", "--once"); code != 0 {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	l.says = plugins.Status{State: plugins.Unknown, Err: &plugins.Error{Kind: plugins.Unavailable, Op: "status", Endpoint: "liar:den", Said: "not now"}}
	want, _, _ := atLiarIn(t, dir, l, "status", "--all")
	if code, _, errs := atLiarIn(t, dir, l, "follow", "--once"); code != want || code == 0 {
		t.Errorf("exit code %d, of status %d\n%s", code, want, errs)
	}
}
