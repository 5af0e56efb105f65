package environment

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// Layers that are small and within the budget, and would keep whoever unpacks them busy for hours, or leave what nobody can
// remove: the work grows with what is unpacked and no faster.
func TestLayersThatAreSlowToUnpack(t *testing.T) {
	const many, most = 6000, 3 * time.Second
	if _, err := os.Stat("/dev/shm"); err == nil {
		t.Setenv("TMPDIR", "/dev/shm") // where to make folders costs little
	}
	folders := func(n int) (list []entry) {
		for i := range n {
			list = append(list, dir(fmt.Sprintf("f%d", i)))
		}
		return list
	}
	replaced := folders(3 * many)
	for i := range 3 * many {
		replaced = append(replaced, file(fmt.Sprintf("f%d", i), "")) // each takes a folder's place
	}
	spared := folders(many)
	for range many {
		spared = append(spared, file(opaque, ""))
	}
	for name, layers := range map[string][][]entry{
		"folders replaced":      {replaced},
		"opaque without end":    {spared},
		"hidden without end":    {{dir("d")}, append(inFolder("d", folders(many)), repeated(file(".wh.d", ""), many)...)},
		"opaque over the lower": {inFolder("d", folders(many)), append([]entry{dir("d"), file("d/x", "")}, repeated(file("d/"+opaque, ""), many)...)},
	} {
		t.Run(name, func(t *testing.T) {
			var raw [][]byte
			for _, layer := range layers {
				raw = append(raw, tarOf(t, layer...))
			}
			testbed.Within(t, most, 500<<20, func() {
				if _, err := unpackLayers(t, DefaultBudget, raw...); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func inFolder(folder string, list []entry) (inside []entry) {
	inside = append(inside, dir(folder))
	for _, e := range list {
		e.name = folder + "/" + e.name
		inside = append(inside, e)
	}
	return inside
}

func repeated(e entry, n int) (list []entry) {
	for range n {
		list = append(list, e)
	}
	return list
}

// Names that lead through links to deeper and deeper folders, to ways of a hundred thousand steps, or that are gigabytes
// together.
func TestNamesThatAreTooMuch(t *testing.T) {
	part := strings.Repeat("d/", 60)
	deeper := []entry{file(part+"x", ""), symlink("l0", part)}
	for i := range 30 {
		link := fmt.Sprintf("l%d/", i)
		deeper = append(deeper, file(link+part+"x", ""), symlink(fmt.Sprintf("l%d", i+1), link+part))
	}
	winding := []entry{dir("a"), symlink("w0", "a")}
	for i := range 20 {
		winding = append(winding, symlink(fmt.Sprintf("w%d", i+1), fmt.Sprintf("w%d/%s", i, strings.Repeat("../a/", 700))))
	}
	winding = append(winding, file("w20/x", ""))
	long := strings.Repeat("n", 200) + "/"
	var names []entry
	for i := range 3000 {
		names = append(names, file(fmt.Sprintf("%s%d", strings.Repeat(long, 15), i), ""))
	}
	for name, tt := range map[string]struct {
		layer  []entry
		budget Budget
		why    string
	}{
		"deeper by links":       {deeper, DefaultBudget, "leads too deep"},
		"a winding way":         {winding, DefaultBudget, "too many steps"},
		"gigabytes of names":    {names, Budget{Bytes: 1 << 20, Entries: 1e6, Names: 1 << 20}, "one name too many"},
		"as long, and in order": {names[:100], Budget{Bytes: 1 << 20, Entries: 1e6, Names: 1 << 20}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tree, err := unpackLayers(t, tt.budget, tarOf(t, tt.layer...))
			if tt.why == "" && err != nil || tt.why != "" && (err == nil || !strings.Contains(err.Error(), tt.why)) {
				t.Errorf("%v, want %q", err, tt.why)
			}
			if err := removeTree(tree); err != nil {
				t.Errorf("what is there cannot be removed: %v", err)
			}
			if _, err := os.Lstat(filepath.Clean(tree)); err == nil {
				t.Error("it is still there")
			}
		})
	}
}

// endless says one thing again and again, and counts its bytes.
type endless struct {
	text []byte
	said int64
}

func (e *endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		k := copy(p[n:], e.text[int((e.said+int64(n))%int64(len(e.text))):])
		n += k
	}
	e.said += int64(n)
	return n, nil
}

// Headers that belong to no entry, of which few bytes of zstd make terabytes, are refused before they are many.
func TestHeadersWithoutEnd(t *testing.T) {
	note := paxRecord("comment", strings.Repeat("x", 900<<10))
	for name, kind := range map[string]byte{"records": tar.TypeXHeader, "records for all": tar.TypeXGlobalHeader, "long names": tar.TypeGNULongName, "long links": tar.TypeGNULongLink} {
		root, err := os.OpenRoot(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		raw := paxTar(t, tar.TypeReg, note)
		raw = raw[:512+(len(note)+511)/512*512] // without the entry
		raw[156] = kind
		copy(raw[148:156], checksumOf(raw[:512]))
		in := &endless{text: raw}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err = newUnpacker(root, Budget{Bytes: 1 << 30, Entries: 1000}).apply(ctx, io.LimitReader(in, 1<<30))
		if err == nil || in.said > 32<<20 {
			t.Errorf("%s: %v after %d MB", name, err, in.said>>20)
		}
	}
}

// Names of a megabyte are refused in few words.
func TestLongNamesAreToldInFewWords(t *testing.T) {
	long := strings.Repeat("x", 900<<10)
	for name, e := range map[string]entry{
		"absolute":          file("/"+long, ""),
		"climbs":            file("../"+long, ""),
		"long":              file(long, ""),
		"deep":              file(strings.Repeat("x/", 400<<10)+"x", ""),
		"target":            symlink("l", long),
		"hard link":         hardlink("h", long),
		"hard link outside": hardlink("h", "/"+long),
		"device":            {name: long, kind: tar.TypeChar},
	} {
		if _, err := unpackLayers(t, DefaultBudget, tarOf(t, e)); err == nil || len(err.Error()) > 1000 {
			t.Errorf("%s: %.200v", name, err)
		}
	}
}

// What a whiteout has for a body, and what lies behind an archive's end, is written nowhere and costs its time all the same:
// a few bytes of zstd for gigabytes, in each of a million entries and of five hundred layers.
func TestBytesThatNobodyKeeps(t *testing.T) {
	const most = 8 << 20
	budget := Budget{Bytes: most, Entries: 1000}
	hidden := tarOf(t, file(".wh.x", strings.Repeat("0", 1<<20)))
	hidden = hidden[:len(hidden)-1024] // without the archive's end
	folder := tarOf(t, dir("d"))[:512]
	copy(folder[124:136], "77777777777\x00") // what a folder says of its size allows nothing
	copy(folder[148:156], checksumOf(folder))
	note := paxTar(t, tar.TypeReg, paxRecord("comment", strings.Repeat("x", 900<<10)))
	note = note[:512+901<<10]
	for name, text := range map[string][]byte{"bodies of whiteouts": hidden, "folders of gigabytes": append(folder, note...)} {
		root, err := os.OpenRoot(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		in := &endless{text: text}
		err = newUnpacker(root, budget).apply(t.Context(), io.LimitReader(in, 256<<20))
		if err == nil || in.said > 4*most {
			t.Errorf("%s: %v after %d MB", name, err, in.said>>20)
		}
	}
	behind := append(tarOf(t, file("a", "1")), make([]byte, 3<<20)...)
	c := newCache(t)
	c.Budget = budget
	if tr, err := c.Tree(t.Context(), definitionOf(t, "X", behind, behind)); err != nil {
		t.Errorf("zeros behind two archives: %v", err)
	} else {
		tr.Close()
	}
	if tr, err := c.Tree(t.Context(), definitionOf(t, "Y", behind, behind, behind)); err == nil || !strings.Contains(err.Error(), "follow the archive") {
		t.Errorf("zeros behind three archives: %v", err)
		if err == nil {
			tr.Close()
		}
	}
}

// A cache may be one that other users of the node reach: what an image lets all write to, as each does with its /var/tmp, is
// its owner's alone in the tree.
func TestTreesAreWrittenByTheirOwnerAlone(t *testing.T) {
	c := newCache(t)
	tr := tree(t, c, definitionOf(t, "X", tarOf(t, entry{name: "var/tmp", kind: tar.TypeDir, mode: 0o1777},
		entry{name: "var/tmp/f", body: "x", kind: tar.TypeReg, mode: 0o666}, hardlink("h", "var/tmp/f"), entry{name: "bin", kind: tar.TypeDir, mode: 0o775},
		entry{name: "bin/x", body: "x", kind: tar.TypeReg, mode: 0o777})))
	for name, want := range map[string]os.FileMode{"var/tmp": 0o755, "var/tmp/f": 0o644, "h": 0o644, "bin": 0o755, "bin/x": 0o755} {
		if info, err := os.Stat(filepath.Join(tr.Path, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", name, info.Mode().Perm(), err, want)
		}
	}
}
