package environment

import (
	"archive/tar"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Layers of images that try to get out of the tree, or to fill the disk. Beside each tree lies a victim; whether the
// image is refused or becomes harmless, the victim stays as it was.
func TestHostileLayers(t *testing.T) {
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	up := strings.Repeat("../", 12)
	small := Budget{Bytes: 1000, Entries: 5}
	for _, tt := range []struct {
		name   string
		why    string // part of the refusal; empty: becomes harmless
		budget Budget
		layer  []entry
	}{
		{"name that climbs", "climbs", DefaultBudget, []entry{file(up+victim[1:], "x")}},
		{"name that climbs inside", "climbs", DefaultBudget, []entry{dir("a"), file("a/../../x", "x")}},
		{"absolute name", "is absolute", DefaultBudget, []entry{file(victim, "x")}},
		{"through an absolute link", "", DefaultBudget, []entry{symlink("l", filepath.Dir(victim)), file("l/victim", "x")}},
		{"through a relative link", "", DefaultBudget, []entry{symlink("l", up+filepath.Dir(victim)[1:]), file("l/victim", "x")}},
		{"through /proc/self/cwd", "", DefaultBudget, []entry{symlink("l", "/proc/self/cwd"), file("l/x", "x")}},
		{"over a link", "", DefaultBudget, []entry{symlink("l", victim), file("l", "x")}},
		{"hard link outside", "is absolute", DefaultBudget, []entry{hardlink("h", victim)}},
		{"hard link that climbs", "climbs", DefaultBudget, []entry{hardlink("h", up+victim[1:])}},
		{"hard link through a link", "no such file", DefaultBudget,
			[]entry{symlink("l", filepath.Dir(victim)), hardlink("h", "l/victim")}},
		{"hard link to a link", "", DefaultBudget, []entry{symlink("l", victim), hardlink("h", "l"), file("h", "x")}},
		{"whiteout through a link", "", DefaultBudget, []entry{symlink("l", filepath.Dir(victim)), file("l/.wh.victim", "")}},
		{"opaque whiteout through a link", "", DefaultBudget, []entry{symlink("l", filepath.Dir(victim)), file("l/"+opaque, "")}},
		{"whiteout of the parent", "hides no name", DefaultBudget, []entry{file(".wh...", "")}},
		{"whiteout of itself", "hides no name", DefaultBudget, []entry{file(".wh..", "")}},
		{"whiteout of nothing", "hides no name", DefaultBudget, []entry{file("a/.wh.", "")}},
		{"tree replaced by a link", "replace the tree", DefaultBudget, []entry{symlink(".", "/")}},
		{"circle of links", "too many symbolic links", DefaultBudget, []entry{symlink("a", "b"), symlink("b", "a"), file("a/x", "x")}},
		{"folder that is a file", "where a folder is needed", DefaultBudget, []entry{file("a", "x"), file("a/b", "x")}},
		{"sparse giant", "type 'S'", DefaultBudget, []entry{{name: "s", kind: tar.TypeGNUSparse}}},
		{"large file", "larger than is allowed", small, []entry{file("a", strings.Repeat("x", 1001))}},
		{"many files", "one too many", small, []entry{dir("1"), dir("2"), dir("3"), dir("4"), dir("5"), dir("6")}},
		{"deep folders", "one too many", small, []entry{file("a/b/c/d/e/f/g", "")}},
		{"very deep", "too deep", DefaultBudget, []entry{file(strings.Repeat("d/", maxDepth+1)+"x", "")}},
		{"device", "", DefaultBudget, []entry{{name: "sda", kind: tar.TypeBlock, mode: 0o666}, {name: "p", kind: tar.TypeFifo}}},
		{"modes without any right", "", DefaultBudget, []entry{{name: "d", kind: tar.TypeDir}, file("d/x", "x"), {name: "f", kind: tar.TypeReg, body: "x"}}},
		{"hard link to a set-id file", "", DefaultBudget, []entry{{name: "su", body: "x", kind: tar.TypeReg, mode: 0o6755}, {name: "h", link: "su", kind: tar.TypeLink, mode: 0o6755}}},
		{"file with capabilities", "", DefaultBudget, []entry{{name: "ping", body: "x", kind: tar.TypeReg, mode: 0o755,
			records: map[string]string{"SCHILY.xattr.security.capability": "\x01\x00\x00\x02\x00\x20\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"}}}},
		{"set-id file", "", DefaultBudget, []entry{{name: "su", body: "x", kind: tar.TypeReg, mode: 0o6755}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			raw := hostileTar(t, tt.layer)
			tree, err := unpackLayers(t, tt.budget, raw)
			switch {
			case tt.why == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.why != "" && (err == nil || !strings.Contains(err.Error(), tt.why)):
				t.Errorf("got %v, want an error with %q", err, tt.why)
			}
			if text, err := os.ReadFile(victim); err != nil || string(text) != "precious" {
				t.Fatalf("the victim is %q, %v", text, err)
			}
			checkHarmless(t, tree)
		})
	}
}

// hostileTar packs entries; a sparse one is a hundred gigabytes of holes, as GNU tar packs them.
func hostileTar(t *testing.T, entries []entry) []byte {
	if entries[0].kind != tar.TypeGNUSparse {
		return tarOf(t, entries...)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "s"), 100<<30); err != nil {
		t.Fatal(err)
	}
	raw, err := exec.Command("tar", "--format=gnu", "-S", "-C", dir, "-cf", "-", "s").Output()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// checkHarmless looks for what must not be in any tree.
func checkHarmless(t *testing.T, tree string) {
	t.Helper()
	filepath.Walk(tree, func(name string, info os.FileInfo, err error) error {
		if err == nil && info.Mode()&(os.ModeDevice|os.ModeNamedPipe|os.ModeSetuid|os.ModeSetgid|os.ModeSocket) != 0 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
		if err != nil {
			t.Errorf("%s cannot be looked at, nor removed: %v", name, err)
		} else if info.Mode().IsDir() && info.Mode()&0o700 != 0o700 {
			t.Errorf("folder %s has mode %v: it cannot be removed", name, info.Mode())
		}
		if n, err := unix.Lgetxattr(name, "security.capability", nil); err == nil {
			t.Errorf("%s has %d bytes of capabilities", name, n)
		}
		return nil
	})
}

func TestLayersUponEachOther(t *testing.T) {
	base := tarOf(t, dir("run"), dir("var"), symlink("var/run", "/run"), dir("etc"), file("etc/a", "1"), file("etc/b", "1"),
		dir("opt"), file("opt/old", "1"), entry{name: "ro", kind: tar.TypeDir, mode: 0o555}, file("ro/f", "x"),
		hardlink("etc/c", "etc/a"))
	top := tarOf(t, file("var/run/pid", "7"), file("etc/.wh.a", ""), file("etc/b", "2"), dir("opt"), file("opt/new", "2"),
		file("opt/"+opaque, ""), file("deep/er/x", "2"), file("ro/g", "y"))
	tree, err := unpackLayers(t, DefaultBudget, base, top)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"run/pid": "7", "etc/a": "", "etc/b": "2", "etc/c": "1", "opt/old": "", "opt/new": "2", "deep/er/x": "2",
		"ro/f": "x", "ro/g": "y",
	} {
		got, err := os.ReadFile(filepath.Join(tree, name))
		if want == "" && !errors.Is(err, os.ErrNotExist) || string(got) != want {
			t.Errorf("%s is %q (%v), want %q", name, got, err, want)
		}
	}
	info, err := os.Stat(filepath.Join(tree, "ro"))
	if err != nil || info.Mode().Perm() != 0o755 || !info.ModTime().Equal(made) {
		t.Errorf("ro: %v %v, want 0755 (its owner can remove it) of %v", info.Mode(), info.ModTime(), made)
	}
}

// A whiteout hides what lower layers made, wherever it stands in its own layer, and nothing of that (image-spec v1, layer.md);
// what is no file or folder hides, too, what it takes the place of.
func TestWhiteoutsHideLowerLayersAlone(t *testing.T) {
	base := tarOf(t, dir("a"), dir("a/b"), file("a/b/old", "1"), file("a/old", "1"), dir("i"), dir("i/b"), file("i/b/old", "1"), dir("c"), file("c/old", "1"), file("f", "1"),
		dir("d"), file("d/old", "1"), file("dev", "1"), dir("pipe"), file("pipe/old", "1"))
	top := tarOf(t, dir("a"), dir("a/b"), file("a/b/new", "2"), file("a/"+opaque, ""), file("c/e/new", "2"), file("c/"+opaque, ""), file("i/b/new", "2"), file("i/"+opaque, ""),
		file("f", "2"), file(".wh.f", ""), file("d/new", "2"), file(".wh.d", ""),
		entry{name: "dev", kind: tar.TypeChar}, entry{name: "pipe", kind: tar.TypeFifo})
	tree, err := unpackLayers(t, DefaultBudget, base, top)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"a/b/old": "", "a/old": "", "i/b/old": "", "i/b/new": "2", "a/b/new": "2", "c/old": "", "c/e/new": "2", "f": "2", "d/old": "", "d/new": "2", "dev": "", "pipe/old": "",
	} {
		got, err := os.ReadFile(filepath.Join(tree, name))
		if want == "" && err == nil || string(got) != want {
			t.Errorf("%s is %q (%v), want %q", name, got, err, want)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(tarOf(f, dir("a"), file("a/b", "x"), symlink("l", "/a"), file("l/c", "y"), hardlink("h", "a/b"), file("a/.wh.b", "")))
	f.Add(tarOf(f, symlink("l", "../../.."), file("l/x", "x"), file(".wh...", "")))
	f.Fuzz(func(t *testing.T, raw []byte) {
		outside := t.TempDir()
		tree := filepath.Join(outside, "tree")
		if err := os.Mkdir(tree, 0o755); err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(tree)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		u := newUnpacker(root, Budget{Bytes: 1 << 20, Entries: 100})
		if err := u.apply(t.Context(), bytes.NewReader(raw)); err == nil {
			u.finish()
		}
		list, err := os.ReadDir(outside)
		if err != nil || len(list) != 1 {
			t.Errorf("beside the tree: %v, %v", list, err)
		}
		removeTree(tree)
	})
}
