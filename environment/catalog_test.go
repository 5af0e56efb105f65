package environment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gridbroker/environment/layers"
)

// within fails a test whose step takes longer than anything that waits for nobody.
func within(t *testing.T, what string, step func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); step() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal(what + ": still waiting")
	}
}

// What lies among the definitions and is none is refused, without waiting for it or reading it to its end.
func TestWhatIsNoDefinition(t *testing.T) {
	for name, make := range map[string]func(file string) error{
		"pipe":     func(file string) error { return unix.Mkfifo(file, 0o644) },
		"device":   func(file string) error { return os.Symlink("/dev/zero", file) },
		"folder":   func(file string) error { return os.Mkdir(file, 0o755) },
		"terabyte": func(file string) error { return os.WriteFile(file, nil, 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "VEE-A.toml")
			if err := make(file); err != nil {
				t.Fatal(err)
			}
			if name == "terabyte" {
				if err := os.Truncate(file, 1<<40); err != nil {
					t.Fatal(err)
				}
			}
			within(t, name, func() {
				if c, err := (&Node{Definitions: dir}).Catalog(); err != nil || c.Broken() == nil || !strings.Contains(c.Broken().Error(), file) {
					t.Errorf("catalog: %v", err)
				}
				if _, err := (&Node{Definitions: dir}).Definition("VEE-A"); err == nil {
					t.Error("it defines a tag")
				}
			})
		})
	}
}

// TestSettingsOfOthers: settings that a neighbour could have written, and so said whose images jobs get and where they are not
// isolated, are not read.
func TestSettingsOfOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "grid")
	file := filepath.Join(dir, "node.json")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(file, []byte(`{"definitions": "/d", "cache": "/c"}`), 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, modes := range [][3]os.FileMode{{0o755, 0o644, 1}, {0o755, 0o666}, {0o777, 0o644}, {0o755 | os.ModeSticky, 0o600, 1}} {
		if err := errors.Join(os.Chmod(dir, modes[0]), os.Chmod(file, modes[1])); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadNode(file); (err == nil) != (modes[2] == 1) || err != nil && !strings.Contains(err.Error(), "others could have written") {
			t.Errorf("%v, %v: %v", modes[0], modes[1], err)
		}
	}
}

// What others could have written is no definition of the site's, unless somebody signs those: not in their folder, and not in
// a file that they may write to, which keeps no other from being used.
func TestDefinitionsThatOthersMayWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "definitions")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"VEE-A", "VEE-B"} {
		text := fmt.Sprintf("tag = %q\nimage = \"oci:/i\"\ndigest = \"sha256:%s\"\n", name, strings.Repeat("ab", 32))
		if err := os.WriteFile(filepath.Join(dir, FileOfTag(name)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	node := &Node{Definitions: dir}
	for _, c := range []struct {
		folder, file os.FileMode
		a, all       bool // whether VEE-A is found, and the folder read
	}{{0o755, 0o644, true, true}, {0o755, 0o666, false, true}, {0o777, 0o644, false, false}, {0o777 | os.ModeSticky, 0o644, true, true}} {
		if err := errors.Join(os.Chmod(dir, c.folder), os.Chmod(filepath.Join(dir, FileOfTag("VEE-A")), c.file)); err != nil {
			t.Fatal(err)
		}
		d, err := node.Definition("VEE-A")
		if (err == nil && d.Tag == "VEE-A") != c.a || err != nil && !strings.Contains(err.Error(), "others could have written") {
			t.Errorf("%v, %v: %v, %v", c.folder, c.file, d, err)
		}
		catalog, err := node.Catalog()
		if (err == nil) != c.all {
			t.Errorf("%v, %v: %v", c.folder, c.file, err)
			continue
		}
		if err != nil {
			continue
		}
		_, a := catalog.Find("VEE-A")
		if _, b := catalog.Find("VEE-B"); a != c.a || !b || (catalog.Broken() == nil) != c.a {
			t.Errorf("%v, %v: found %v and %v, %v", c.folder, c.file, a, b, catalog.Broken())
		}
	}
}

// One definition that cannot be read keeps no other from being used, and none is taken for one that is not there; of two
// with one tag neither is used.
func TestBrokenDefinitionsKeepNoOther(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[our] definitions") // a name is no pattern
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, tag := range map[string]string{"a": "VEE-A", "b": "VEE-B", "twin": "vee-b", "c": "no tag"} {
		text := fmt.Sprintf("tag = %q\nimage = \"oci:/i\"\ndigest = \"sha256:%s\"\n", tag, strings.Repeat("ab", 32))
		if err := os.WriteFile(filepath.Join(dir, name+".toml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	node := &Node{Definitions: dir}
	c, err := node.Catalog()
	if err != nil {
		t.Fatal(err)
	}
	if list := c.All(); len(list) != 1 || list[0].Tag != "VEE-A" {
		t.Errorf("used: %v", list)
	}
	for _, file := range []string{"c.toml", "twin.toml"} {
		if c.Broken() == nil || !strings.Contains(c.Broken().Error(), file) {
			t.Errorf("nothing is said of %s: %v", file, c.Broken())
		}
	}
	if d, err := node.Definition("VEE-A"); err != nil || d.Tag != "VEE-A" {
		t.Error(d, err)
	}
	for _, tag := range []string{"VEE-B", "VEE-C"} {
		if d, err := node.Among([]string{tag}); err == nil {
			t.Errorf("%s may be one of the broken ones, and is taken for one that is not there: %v", tag, d)
		}
	}
}

// An archive that is a pipe keeps nobody waiting, such as root who deploys for users.
func TestArchiveThatIsAPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "image.tar")
	if err := unix.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	c := &Cache{Dir: filepath.Join(t.TempDir(), "cache"), Codec: layers.Codec{}}
	within(t, "pipe", func() {
		_, err := c.Tree(t.Context(), &Definition{Tag: "VEE-A", Image: "tree:" + pipe, Digest: digestOf(nil)})
		if err == nil || !strings.Contains(err.Error(), "no regular file") {
			t.Error(err)
		}
	})
}

// A node's settings, and the folder of a job, that are a pipe keep nobody waiting.
func TestSettingsAndFoldersThatArePipes(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "node.json")
	if err := unix.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	within(t, "settings", func() {
		if _, err := ReadNode(pipe); err == nil || !strings.Contains(err.Error(), "no regular file") {
			t.Error(err)
		}
	})
	within(t, "folder", func() {
		n := &Node{Policy: Policy{UserFolders: []string{dir}}}
		if _, err := n.openFolder(&Definition{Tag: "VEE-A", Image: pipe}); err == nil || !strings.Contains(err.Error(), "is no folder") {
			t.Error(err)
		}
	})
}
