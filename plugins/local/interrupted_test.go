package local_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gridbroker/jdl"
	"gridbroker/plugins"
)

// soon is a context that ends when it was asked about so often.
type soon struct {
	context.Context
	left atomic.Int32
}

func (s *soon) Err() error {
	if s.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// giant is a file of 50 MB, which take no room.
func giant(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "giant")
	writeFile(t, path, "")
	check(t, os.Truncate(path, 50<<20))
	return path
}

// empty tells whether there is nothing in a directory.
func empty(t *testing.T, dir string) bool {
	t.Helper()
	entries, err := os.ReadDir(dir)
	check(t, err)
	return len(entries) == 0
}

// A submission that is interrupted while a large input file is copied ends, and leaves nothing; so does bringing large output.
func TestInterruptedCopies(t *testing.T) {
	b, dir := siteWithQueue(t)
	job := shell("true")
	job.InputSandbox = []jdl.InputFile{{Name: "giant", Source: giant(t)}}
	ctx := &soon{Context: t.Context()}
	ctx.left.Store(3)
	r := b.Submit(ctx, []plugins.Request{request("a", "j", job)}, nil)[0]
	if e, ok := errors.AsType[*plugins.Error](r.Err); !ok || e.Kind != plugins.Unavailable || !errors.Is(e, context.Canceled) {
		t.Errorf("submitted: %v", r.Err)
	}
	if _, err := os.Stat(filepath.Join(dir, "a", "jobs", "j")); err == nil || !empty(t, filepath.Join(dir, "a", "new")) {
		t.Error("something is left")
	}
	h := submit(t, b, request("a", "k", shell("true")))[0]
	wait(t, b, h, plugins.State.Final)
	check(t, os.Rename(giant(t), filepath.Join(dir, "a", "jobs", "k", "work", "giant")))
	to := t.TempDir()
	ctx.left.Store(6)
	if r := b.Fetch(ctx, []plugins.FetchRequest{{Handle: h, Dir: to, Want: []string{"giant"}}}, nil)[0]; !errors.Is(r.Err, context.Canceled) {
		t.Errorf("fetched: %v", r.Err)
	}
	if !empty(t, to) {
		t.Error("a part of the output is left")
	}
}

// Whoever interrupts the copying of a large input file does not wait for its removal, which takes a file system a third of a
// second for each gigabyte: another process goes on with it.
func TestInterruptedCopiesAreClearedMeanwhile(t *testing.T) {
	b, dir := siteWithQueue(t)
	large := giant(t)
	check(t, os.Truncate(large, 200<<20))
	job := shell("true")
	job.InputSandbox = []jdl.InputFile{{Name: "giant", Source: large}}
	began := filepath.Join(t.TempDir(), "began")
	for _, rm := range []string{"#!/bin/sh\necho \"$@\" >" + began + "\nexec /bin/rm \"$@\"\n", ""} {
		bin := t.TempDir()
		if rm != "" {
			check(t, os.WriteFile(filepath.Join(bin, "rm"), []byte(rm), 0o700))
		}
		t.Setenv("PATH", bin)
		ctx := &soon{Context: t.Context()}
		ctx.left.Store(6) // 80 MB
		if r := b.Submit(ctx, []plugins.Request{request("a", "j", job)}, nil)[0]; !errors.Is(r.Err, context.Canceled) {
			t.Fatalf("submitted: %v", r.Err)
		}
		for end := time.Now().Add(20 * time.Second); rm != "" && time.Now().Before(end) && !empty(t, filepath.Join(dir, "a", "new")); {
			time.Sleep(10 * time.Millisecond)
		}
		if text, err := os.ReadFile(began); rm != "" && (err != nil || !strings.HasPrefix(string(text), "-rf -- "+filepath.Join(dir, "a", "new")+"/")) {
			t.Errorf("removed by nobody else: %q, %v", text, err)
		}
		if !empty(t, filepath.Join(dir, "a", "new")) {
			t.Error("something is left")
		}
	}
}

// An input file that the disk has no room for is named with its size and what is free, and not begun: it was copied until the disk
// was full. Where it is begun all the same, the test ends it after 48 MB.
func TestInputFileWithoutRoom(t *testing.T) {
	b, dir := siteWithQueue(t)
	free, err := plugins.FreeBytes(dir)
	check(t, err)
	path := filepath.Join(t.TempDir(), "giant")
	writeFile(t, path, "")
	if err := os.Truncate(path, 2*free+1<<30); err != nil {
		t.Skipf("no file is that large here: %v", err)
	}
	job := shell("true")
	job.InputSandbox = []jdl.InputFile{{Name: "small", Text: "small"}, {Name: "giant", Source: path}}
	ctx := &soon{Context: t.Context()}
	ctx.left.Store(6)
	r := b.Submit(ctx, []plugins.Request{request("a", "j", job)}, nil)[0]
	where := filepath.Join(dir, "a", "new")
	if e, ok := errors.AsType[*plugins.Error](r.Err); !ok || e.Kind != plugins.Refused || !errors.Is(e, plugins.ErrNoRoom) ||
		!regexp.MustCompile(`input file giant is too large: it has [0-9.]+ [GT]B, and [0-9.]+ [GT]B are free for it in `+where).MatchString(e.Error()) {
		t.Errorf("%v", r.Err)
	}
	if !empty(t, where) {
		t.Error("it was begun")
	}
}

// What a killed command left of a job that it was about to submit is removed by the next submission, but not while another
// command builds its own.
func TestLeftoversOfKilledSubmissions(t *testing.T) {
	b, dir := siteWithQueue(t)
	left := filepath.Join(dir, "a", "new", "1234", "work")
	check(t, os.MkdirAll(left, 0o700))
	writeFile(t, filepath.Join(left, "giant"), "much")
	other, err := os.OpenFile(filepath.Join(dir, "a", "new.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	check(t, err)
	defer other.Close()
	check(t, syscall.Flock(int(other.Fd()), syscall.LOCK_SH))
	submit(t, b, request("a", "j", shell("true")))
	if empty(t, filepath.Join(dir, "a", "new")) {
		t.Fatal("what another command builds was removed")
	}
	// Where submissions overlap without a pause, what was begun long ago goes all the same.
	long := time.Now().Add(-25 * time.Hour)
	old := filepath.Join(dir, "a", "new", "99")
	check(t, os.Mkdir(old, 0o700))
	check(t, os.Chtimes(old, long, long))
	submit(t, b, request("a", "l", shell("true")))
	if _, err := os.Lstat(old); !os.IsNotExist(err) {
		t.Errorf("what was begun a day ago is there still: %v", err)
	}
	other.Close()
	submit(t, b, request("a", "k", shell("true")))
	if !empty(t, filepath.Join(dir, "a", "new")) {
		t.Error("what a killed command left is there still")
	}
}
