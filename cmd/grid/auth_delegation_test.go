package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/testdata/testbed"
)

// What a CE is given lives as long as our own credential where nobody renews it,
// a day where grid follow does, and as configured where that is said.
func TestDelegationsAreShort(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, err := aliceOf(t, testbed.NeedARC(t)).NewProxy(credential.ProxyOptions{Lifetime: 5 * 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	proxy := filepath.Join(w.dir, "proxy")
	if err := p.Save(proxy); err != nil {
		t.Fatal(err)
	}
	w.env = append(w.env, "X509_USER_PROXY="+proxy)
	w.grid("submit", "--no-cache", "--info", w.bed.REST11[0], w.jobs(1, "sleep 600")[0])
	w.delegatedFor(5 * 24 * time.Hour)

	follower := w.command("follow")
	if err := follower.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(w.dir, "state", "leases", "follow")); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("grid follow does not begin")
		}
	}
	w.grid("auth", "renew", "--all")
	w.delegatedFor(24 * time.Hour)
	if err := follower.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	_ = follower.Wait() // 143

	if err := os.WriteFile(filepath.Join(w.dir, "grid.toml"), []byte("[auth]\ndelegation = \"3h\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.grid("auth", "renew", "--all")
	w.delegatedFor(3 * time.Hour)
}

// grid runs the program and expects that all goes well.
func (w *world) grid(args ...string) {
	w.t.Helper()
	if out, msg, code := w.try(args...); code != 0 {
		w.t.Fatalf("grid %v: exit code %d\n%s%s", args, code, out, msg)
	}
}

// delegatedFor checks for how long the one delegation of this user lives.
func (w *world) delegatedFor(want time.Duration) {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(w.dir, "state", "arc-delegations", "*.json"))
	if err != nil || len(files) != 1 {
		w.t.Fatalf("delegations kept: %v, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		w.t.Fatal(err)
	}
	var d struct{ Expires time.Time }
	if err := json.Unmarshal(text, &d); err != nil {
		w.t.Fatal(err)
	}
	if life := time.Until(d.Expires); life > want+time.Minute || life < want-10*time.Minute {
		w.t.Errorf("it lives for %v, want %v", life, want)
	}
}
