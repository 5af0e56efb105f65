package local_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gridbroker/plugins"
	"gridbroker/plugins/local"
	"gridbroker/testdata/testbed"
)

// oneSlot is a site where one job runs at a time, and its directory.
func oneSlot(t *testing.T) (*local.Backend, string) {
	t.Helper()
	exe, err := os.Executable()
	check(t, err)
	dir := testbed.Home(t)
	b, err := local.New(local.Options{Dir: dir, Sites: []local.Site{{Name: "a", Slots: 1}}, Helper: []string{exe}, Now: time.Now})
	check(t, err)
	return b, filepath.Join(dir, "a")
}

// told is a bulk call that is to have no errors.
func told(t *testing.T, call func(context.Context, []plugins.Handle) []error, hs ...plugins.Handle) {
	t.Helper()
	for _, err := range call(t.Context(), hs) {
		check(t, err)
	}
}

func is(want plugins.State) func(plugins.State) bool {
	return func(s plugins.State) bool { return s == want }
}

// A held job is not started though there is room, and goes on when it is released.
func TestHeldJobWaits(t *testing.T) {
	b, _ := oneSlot(t)
	order := filepath.Join(t.TempDir(), "order")
	hs := submit(t, b, request("a", "first", shell("sleep 600")), request("a", "held", shell("echo held >>"+order)), request("a", "later", shell("echo later >>"+order)))
	wait(t, b, hs[0], is(plugins.Running))
	told(t, b.Hold, hs[1], hs[0])
	if st := wait(t, b, hs[1], is(plugins.Held)); st.Native != "HELD" || st.Reason == "" {
		t.Errorf("%+v", st)
	}
	if st := b.Status(t.Context(), hs)[0]; st.State != plugins.Running {
		t.Errorf("one that had begun: %+v", st)
	}
	told(t, b.Cancel, hs[0])
	wait(t, b, hs[2], is(plugins.Done))
	time.Sleep(300 * time.Millisecond) // six looks of a runner
	wait(t, b, hs[1], is(plugins.Held))
	told(t, b.Release, hs[1], hs[2])
	wait(t, b, hs[1], is(plugins.Done))
	if said, err := os.ReadFile(order); string(said) != "later\nheld\n" {
		t.Errorf("%q %v", said, err)
	}
}

// A held job is cancelled as any other, and what a power cut may leave of a hold beside a job
// that was started all the same hides neither its state nor its end.
func TestHeldJobEnds(t *testing.T) {
	b, dir := oneSlot(t)
	hs := submit(t, b, request("a", "first", shell("sleep 600")), request("a", "second", shell("exit 0")))
	wait(t, b, hs[0], is(plugins.Running))
	told(t, b.Hold, hs[1])
	told(t, b.Cancel, hs[1])
	wait(t, b, hs[1], is(plugins.Cancelled))
	marker := filepath.Join(dir, "held", hs[0].ID)
	writeFile(t, marker, "")
	wait(t, b, hs[0], is(plugins.Running))
	if _, err := os.Lstat(marker); err == nil {
		t.Error("the marker is there still")
	}
	told(t, b.Cancel, hs[0])
	wait(t, b, hs[0], is(plugins.Cancelled))
	for _, h := range hs {
		if _, err := os.Lstat(filepath.Join(dir, "held", h.ID)); err == nil {
			t.Errorf("%s is among the held", h.ID)
		}
	}
}
