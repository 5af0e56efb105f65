package environment

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"gridbroker/environment/layers"
)

// definitionOf is an environment whose image is a layout with the given layers.
func definitionOf(t testing.TB, tag string, layers ...[]byte) *Definition {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "layout")
	return &Definition{Tag: tag, Image: "oci:" + dir, Digest: layoutOf(t, dir, zstdOf, layers...)}
}

func newCache(t testing.TB) *Cache {
	return &Cache{Dir: filepath.Join(t.TempDir(), "cache"), Codec: layers.Codec{}, Rand: func(int) int { return 1 }}
}

func tree(t testing.TB, c *Cache, d *Definition) *Tree {
	t.Helper()
	tr, err := c.Tree(context.Background(), d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	return tr
}

func TestManyJobsOneUnpacking(t *testing.T) {
	d := definitionOf(t, "X", tarOf(t, dir("usr"), file("usr/a", "1")))
	dir := filepath.Join(t.TempDir(), "cache")
	var fresh atomic.Int32
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			c := &Cache{Dir: dir, Codec: layers.Codec{}}
			tr, err := c.Tree(context.Background(), d)
			if err != nil {
				t.Error(err)
				return
			}
			defer tr.Close()
			if tr.Fresh {
				fresh.Add(1)
			}
			if text, err := os.ReadFile(filepath.Join(tr.Path, "usr/a")); string(text) != "1" {
				t.Error(string(text), err)
			}
		})
	}
	wg.Wait()
	if fresh.Load() != 1 {
		t.Errorf("%d unpackings, want 1", fresh.Load())
	}
}

// Layers are taken in gzip, in zstd and plain.
func TestKindsOfLayers(t *testing.T) {
	raw := tarOf(t, file("a", "1"))
	for name, pack := range map[string]func(testing.TB, []byte) []byte{
		"gzip": gzipOf, "zstd": zstdOf, "plain": func(_ testing.TB, raw []byte) []byte { return raw },
	} {
		dir := filepath.Join(t.TempDir(), name)
		d := &Definition{Tag: "X", Image: "oci:" + dir, Digest: layoutOf(t, dir, pack, raw)}
		if text, err := os.ReadFile(filepath.Join(tree(t, newCache(t), d).Path, "a")); string(text) != "1" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

func TestDamagedImages(t *testing.T) {
	layer := tarOf(t, dir("usr"), file("usr/a", strings.Repeat("text ", 1000)))
	for _, tt := range []struct {
		name   string
		damage func(t *testing.T, dir, digest string)
	}{
		{"flipped byte in the layer", func(t *testing.T, dir, _ string) { flip(t, largest(t, dir)) }},
		{"layer cut short", func(t *testing.T, dir, _ string) { cut(t, largest(t, dir)) }},
		{"manifest exchanged", func(t *testing.T, dir, digest string) {
			write(t, filepath.Join(dir, "blobs/sha256", hexOf(digest)), `{"layers":[]}`)
		}},
		{"manifest missing", func(t *testing.T, dir, digest string) {
			os.Remove(filepath.Join(dir, "blobs/sha256", hexOf(digest)))
		}},
		{"more behind the layer", func(t *testing.T, dir, _ string) {
			name := largest(t, dir)
			text, _ := os.ReadFile(name)
			write(t, name, string(text)+"more")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := definitionOf(t, "X", layer)
			tt.damage(t, strings.TrimPrefix(d.Image, "oci:"), d.Digest)
			c := newCache(t)
			_, err := c.Tree(t.Context(), d)
			if _, ok := errors.AsType[*DeployError](err); !ok {
				t.Errorf("got %v, want a DeployError", err)
			}
			for _, sub := range []string{"trees", "tmp"} {
				if list, _ := os.ReadDir(c.sub(sub)); len(list) != 0 {
					t.Errorf("%s holds %v", sub, list)
				}
			}
		})
	}
}

func largest(t *testing.T, dir string) string {
	var name string
	var size int64
	filepath.Walk(dir, func(n string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() && info.Size() > size && !strings.Contains(head(n), "{") {
			name, size = n, info.Size()
		}
		return nil
	})
	return name
}

func head(name string) string {
	text, _ := os.ReadFile(name)
	return string(text[:min(1, len(text))])
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func flip(t *testing.T, name string) {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	write(t, name, string(text))
}

func cut(t *testing.T, name string) {
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, info.Size()/2); err != nil {
		t.Fatal(err)
	}
}

// A layer that makes its reader keep more than any image needs is refused.
func TestWideWindow(t *testing.T) {
	wide := func(t testing.TB, raw []byte) []byte {
		var b bytes.Buffer
		w, err := zstd.NewWriter(&b, zstd.WithWindowSize(zstd.MaxWindowSize))
		if err != nil {
			t.Fatal(err)
		}
		w.Write(raw)
		w.Flush() // before the size is known: the header says the window
		w.Close()
		return b.Bytes()
	}
	dir := t.TempDir()
	d := &Definition{Tag: "X", Image: "oci:" + dir}
	d.Digest = layoutOf(t, dir, wide, tarOf(t, file("a", strings.Repeat("x", 1<<20))))
	if tr, err := newCache(t).Tree(t.Context(), d); err == nil || !strings.Contains(err.Error(), "window") {
		t.Errorf("%v, %v", tr, err)
	}
}

func TestBomb(t *testing.T) {
	d := definitionOf(t, "X", tarOf(t, file("zeros", string(make([]byte, 64<<20)))))
	c := newCache(t)
	c.Budget = Budget{Bytes: 1 << 20, Entries: 100}
	_, err := c.Tree(t.Context(), d)
	if _, ok := errors.AsType[*UnpackError](err); !ok {
		t.Errorf("got %v, want an UnpackError", err)
	}
}

func TestLeastRecentlyUsedGoes(t *testing.T) {
	c := newCache(t)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c.Now = func() time.Time { now = now.Add(time.Minute); return now }
	var list []*Definition
	for _, name := range []string{"a", "b", "c"} {
		d := definitionOf(t, "X", tarOf(t, file(name, strings.Repeat(name, 100_000))))
		list = append(list, d)
		tree(t, c, d).Close()
	}
	held := tree(t, c, list[1]) // b is used again, and stays in use
	tree(t, c, list[0]).Close() // then a: c is the oldest
	if _, err := c.Shrink(150_000); err != nil {
		t.Fatal(err)
	}
	if c.Cached(list[2].Digest) || !c.Cached(list[1].Digest) || c.Cached(list[0].Digest) {
		t.Error("want the tree in use to stay alone")
	}
	held.Close()
	if removed, err := c.Shrink(0); err != nil || len(removed) != 1 {
		t.Errorf("removed %v, %v", removed, err)
	}
}

// What nobody wants goes before what was used earlier; what is in use, or was used since the list was made, stays; what
// died half-way is swept, of whatever digest.
func TestSurplusOfACache(t *testing.T) {
	c := newCache(t)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c.Now = func() time.Time { now = now.Add(time.Minute); return now }
	var list []*Definition
	for _, name := range []string{"a", "b", "c", "d"} {
		d := definitionOf(t, "X", tarOf(t, file(name, strings.Repeat(name, 100_000))))
		list = append(list, d)
		tree(t, c, d).Close()
	}
	held := tree(t, c, list[3])
	defer held.Close()
	unwanted := func(e Entry) bool { return e.Digest == list[2].Digest || e.Digest == list[3].Digest }
	surplus, err := c.Surplus(250_000, unwanted)
	if err != nil || len(surplus) != 2 || surplus[0].Digest != list[2].Digest || surplus[1].Digest != list[0].Digest {
		t.Fatalf("%v, %v: want c, which is not wanted, and a, the oldest", surplus, err)
	}
	if all, err := c.List(); err != nil || len(all) != 4 {
		t.Errorf("to look removed something: %v, %v", all, err)
	}
	tree(t, c, list[0]).Close()
	if removed, err := c.Remove(surplus); err != nil || len(removed) != 1 || !c.Cached(list[0].Digest) || c.Cached(list[2].Digest) {
		t.Errorf("removed %v, %v: want c alone, a was used meanwhile", removed, err)
	}
	left, being := filepath.Join(c.Dir, "tmp", strings.Repeat("0", 64)+".17"), filepath.Join(c.Dir, "tmp", hexOf(list[3].Digest)+".18")
	for _, dir := range []string{left, being} {
		if err := os.MkdirAll(filepath.Join(dir, "usr"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c.Sweep()
	if _, err := os.Stat(left); err == nil {
		t.Error("what died half-way is still there")
	}
	if _, err := os.Stat(being); err != nil {
		t.Error("what somebody is about was swept")
	}
}

func TestPoisonedTreeIsMadeAnew(t *testing.T) {
	d := definitionOf(t, "X", tarOf(t, file("a", "good")))
	c := newCache(t)
	tr := tree(t, c, d)
	tr.Close()
	name := filepath.Join(tr.Path, "a")
	info, _ := os.Stat(name)
	write(t, name, "evil")
	os.Chtimes(name, info.ModTime(), info.ModTime()) // hides it from all but the inode's own time of change
	if _, ok := errors.AsType[*PoisonedError](c.Verify(d.Digest)); !ok {
		t.Fatal("the change is not seen")
	}
	c.Rand = func(int) int { return 0 }
	tr = tree(t, c, d)
	if _, ok := errors.AsType[*PoisonedError](tr.Check()); !ok {
		t.Error("the spot check does not see the change")
	}
	tr.Close()
	tr = tree(t, c, d)
	if text, _ := os.ReadFile(filepath.Join(tr.Path, "a")); string(text) != "good" {
		t.Errorf("the job would see %q", text)
	}
}

func TestCacheOfOthersIsRefused(t *testing.T) {
	d := definitionOf(t, "X", tarOf(t, file("a", "1")))
	c := newCache(t)
	if err := os.Mkdir(c.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(c.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Tree(t.Context(), d); err == nil || !strings.Contains(err.Error(), "may be written by others") {
		t.Errorf("got %v", err)
	}
	link := filepath.Join(t.TempDir(), "link")
	os.Symlink(t.TempDir(), link)
	c.Dir = link
	if _, err := c.Tree(t.Context(), d); err == nil || !strings.Contains(err.Error(), "is no folder") {
		t.Errorf("got %v", err)
	}
	open := filepath.Join(t.TempDir(), "open")
	c.Dir = filepath.Join(open, "cache")
	for mode, well := range map[fs.FileMode]bool{0o777: false, 0o777 | fs.ModeSticky: true} { // above it
		if err := errors.Join(os.MkdirAll(open, 0o700), os.Chmod(open, mode)); err != nil {
			t.Fatal(err)
		}
		tree, err := c.Tree(t.Context(), d)
		if well != (err == nil) || !well && !strings.Contains(err.Error(), open+", its mode is 0777") {
			t.Errorf("in a folder of mode %v: %v", mode, err)
		}
		if err == nil {
			tree.Close()
		}
	}
}

// Whoever unpacks is killed at many moments; what is left is a whole tree or none, and the next one finds it good.
func TestKilledWhileUnpacking(t *testing.T) {
	if os.Getenv("GRID_TEST_UNPACK") != "" {
		return
	}
	var entries []entry
	for i := range 3000 {
		entries = append(entries, file("f"+strings.Repeat("x", i%50)+string(rune('a'+i%26))+time.Duration(i).String(), "text"))
	}
	d := definitionOf(t, "X", tarOf(t, entries...))
	c := newCache(t)
	for after := time.Millisecond; after < 200*time.Millisecond; after = after * 3 / 2 {
		pid, err := forkUnpack(c.Dir, d)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(after)
		syscall.Kill(pid, syscall.SIGKILL)
		syscall.Wait4(pid, nil, 0, nil)
		if c.Cached(d.Digest) {
			if err := c.Verify(d.Digest); err != nil {
				t.Fatal(err)
			}
			c.remove(d.Digest)
		}
	}
	tree(t, c, d)
	if list, _ := os.ReadDir(c.sub("tmp")); len(list) != 0 {
		t.Errorf("left over: %v", list)
	}
}
