package durable

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Whoever could put another file at the end of a path is found, wherever on its way: in a directory above, as the owner of a
// link on it, or where a link leads through.
func TestOthersCanExchange(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("to give files away takes root")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	at := func(name string) string { return filepath.Join(top, name) }
	for name, mode := range map[string]fs.FileMode{"own": 0o755, "own/below": 0o700, "sticky": 0o777 | fs.ModeSticky, "all": 0o777, "all/dir": 0o755, "group": 0o775, "theirs": 0o755, "theirs/dir": 0o755} {
		must(t, os.MkdirAll(at(name), 0o700))
		must(t, os.Chmod(at(name), mode))
	}
	for link, to := range map[string]string{"link": "own/below", "sticky/link": at("own/below"), "sticky/ours": "../own/./below", "through": "all/../own/below", "last": "link", "loop": "loop"} {
		must(t, os.Symlink(to, at(link)))
	}
	must(t, os.WriteFile(at("own/below/file"), nil, 0o666))
	must(t, os.Chmod(at("own/below/file"), 0o666))
	must(t, os.Chown(at("group"), 0, 4712))
	must(t, os.Chown(at("theirs"), 4711, -1))
	must(t, os.Lchown(at("sticky/link"), 4711, -1))
	for name, want := range map[string]string{"own": "", "own/below": "", "sticky": "", "link": "", "last": "", "sticky/ours": "", "own/below/../../link": "",
		"own/below/file": "own/below/file", "all/dir": "all", "group": "group", "theirs": "theirs", "theirs/dir": "theirs", "sticky/link": "sticky/link", "through": "all"} {
		if want != "" {
			want = at(want)
		}
		if got, why, err := OthersCanExchange(at(name), 0); got != want || err != nil || (why == "") != (want == "") {
			t.Errorf("%s: %q %q, %v", name, got, why, err)
		}
	}
	for _, name := range []string{"loop", "nowhere", "own/nowhere"} {
		if got, _, err := OthersCanExchange(at(name), 0); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got, why, err := OthersCanExchange(at("theirs"), 4711); got != "" && filepath.Dir(got) != filepath.Dir(top) || err != nil {
		t.Errorf("for its owner: %q %q, %v", got, why, err)
	}
}
