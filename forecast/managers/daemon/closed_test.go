package daemon

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gridbroker/forecast/managers"
)

// What cannot be kept on a full disk is not offered: such jobs wait, and others
// are told that nothing is free. With room again they are offered, each of them
// on disk before, and what was cut in the file spoils nothing.
func TestFullDiskOffersNothing(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("cannot mount a small disk here: %v", err)
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	var mu sync.Mutex
	offered := map[managers.ID]bool{}
	broker := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var o Offer
		if r.URL.Path != "/v1/offer" {
			writeBody(w, Orders{})
		} else if readBody(w, r, maxBody, &o) {
			mu.Lock()
			defer mu.Unlock()
			offered[o.Job] = true
			if text, _ := os.ReadFile(filepath.Join(dir, "m", "assignments")); !strings.Contains(string(text), fmt.Sprintf(`"id":%q`, o.Job)) {
				t.Errorf("%s is offered and not on disk", o.Job)
			}
			writeBody(w, Answer{Granted: true})
		}
	}))
	defer broker.Close()
	total := managers.Resources{CPUs: 100}
	ctx, cancel := context.WithCancel(t.Context())
	d, err := New(ctx, Config{Name: "https://m.example:1", System: "here", Total: total, Dir: filepath.Join(dir, "m"), Client: broker.Client(), Beat: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	var run sync.WaitGroup
	run.Go(d.Run)
	defer run.Wait()
	defer cancel()
	ballast, err := os.Create(filepath.Join(dir, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = ballast.Write(make([]byte, 4096))
	}
	ballast.Close()
	const n = 60
	for i := range n {
		d.Submit([]managers.Job{{ID: managers.ID(fmt.Sprint("j", i)), Broker: broker.URL, Need: managers.Resources{CPUs: 1}}})
	}
	s := d.State()
	if len(s.Waiting)+len(s.Running) != n || len(s.Waiting) < n/2 || s.Free.CPUs != 0 {
		t.Errorf("on a full disk %d wait, %d have resources, %d cpus are free", len(s.Waiting), len(s.Running), s.Free.CPUs)
	}
	time.Sleep(4 * d.config.Beat)
	mu.Lock()
	for _, id := range s.Waiting {
		if offered[id] {
			t.Errorf("%s was offered and could not be kept", id)
		}
	}
	mu.Unlock()
	os.Remove(ballast.Name())
	granted := func() bool { s = d.State(); mu.Lock(); defer mu.Unlock(); return len(offered) == n }
	for end := time.Now().Add(time.Minute); !granted() && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	if s.Free.CPUs != 100-n || len(s.Running) != n {
		t.Errorf("with room again %d have resources, %d cpus are free", len(s.Running), s.Free.CPUs)
	}
	cancel()
	run.Wait()
	k, held, err := openKeeper(filepath.Join(dir, "m"))
	if err != nil || len(held) != n {
		t.Fatal(len(held), err)
	}
	k.close()
	if left, _ := filepath.Glob(filepath.Join(dir, "m", ".new-*")); len(left) > 0 {
		t.Errorf("left behind: %v", slices.Compact(left))
	}
}
