package environment

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An unpacked image is one of those below the folders that the site names.
func TestFoldersOfJobs(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"images/.flat/ab", "images/me", "imagesx", "other"} {
		if err := os.MkdirAll(at(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, at("images/file"), "no folder")
	for link, target := range map[string]string{"images/me/tool:1.4": "../.flat/ab", "images/out": "../other", "named": "images"} {
		if err := os.Symlink(target, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	open := Policy{UserImages: true, UserFolders: []string{at("images"), at("named/me")}}
	for _, tt := range []struct {
		policy Policy
		image  string
		want   string // of the error; empty: the folder .flat/ab
	}{
		{open, at("images/me/tool:1.4"), ""},
		{open, at("named/me/tool:1.4"), ""},
		{open, at("images/.flat/ab"), ""},
		{Policy{}, at("images/me/tool:1.4"), "images of users"},
		{Policy{UserImages: true}, at("images/me/tool:1.4"), "allowed: )"},
		{Policy{UserFolders: open.UserFolders}, at("images/me/tool:1.4"), "images of users"},
		{open, at("imagesx"), "allowed: " + at("images")},
		{open, at("other"), "allowed: " + at("images")},
		{open, at("images") + "/../other", ". and .. may not be in it"},
		{open, "/", "allowed"},
		{open, at("images/out"), "to which " + at("images/out") + " leads"},
		{open, at("images/file"), "is no folder"},
		{open, at("images/none"), "no such file"},
	} {
		n := &Node{Policy: tt.policy}
		d, err := n.UserImage(tt.image)
		if err == nil {
			var tree *Tree
			if tree, err = n.Tree(t.Context(), d); err == nil {
				if tree.Path != at("images/.flat/ab") || len(d.Mounts)+len(d.Devices) > 0 || d.Network || d.Open {
					t.Errorf("%s: %s, %+v", tt.image, tree.Path, d)
				}
				tree.Close()
			}
		}
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.image, err, tt.want)
		}
	}
	if !open.TakesImages() {
		t.Error("a site with folders of images alone takes none")
	}
}

// A job in a folder of the node sees what a job in an image sees, and can change nothing of it.
func TestJobInAFolder(t *testing.T) {
	n := newNode(t, "")
	tree := n.mkdir("unpacked", ordinary)
	for _, name := range []string{"bin", "etc", "mnt", "tmp", "srv"} {
		n.mkdir("unpacked/"+name, ordinary)
	}
	busybox, err := os.ReadFile("/bin/busybox")
	if err != nil {
		t.Fatal(err)
	}
	n.write("unpacked/bin/busybox", string(busybox))
	os.Chmod(n.path("unpacked/bin/busybox"), 0o755)
	for _, name := range strings.Fields("sh cat ls id sleep touch head dd ps kill grep env unshare mount seq true mkdir") {
		os.Symlink("busybox", n.path("unpacked/bin/"+name))
	}
	n.write("unpacked/etc/passwd", "root:x:0:0::/:/bin/sh\n")
	n.write("unpacked/version", "1.4\n")
	n.write("unpacked/tmp/theirs", "x")
	os.Symlink("bin", n.path("unpacked/sbin"))
	os.Chmod(n.path("unpacked/tmp/theirs"), 0o644)
	var settings Node
	if err := json.Unmarshal([]byte(n.read("node.json")), &settings); err != nil {
		t.Fatal(err)
	}
	settings.Policy.UserImages, settings.Policy.UserFolders = true, []string{tree}
	text, _ := json.Marshal(settings)
	n.write("node.json", string(text))
	sh := func(script string) (string, int) {
		cmd := n.command("sh", "-c", script)
		at := len(cmd.Args) - 5 // TAG -- sh -c script
		cmd.Args = append(append(cmd.Args[:at:at], "--image", tree, UserImageTag), cmd.Args[at+1:]...)
		out, _ := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), cmd.ProcessState.ExitCode()
	}
	before := listed(t, tree)
	for _, tt := range append(sights(n.path("node.json")),
		sight{"what the folder has", "cat /version; /sbin/ls /", "1.4\nbin\ndev\netc\nmnt\nproc\nsandbox\nsbin\nsrv\ntmp\nversion"},
		sight{"root is read-only", "touch /x 2>/dev/null || echo no; echo 2 2>/dev/null >/version || echo no; touch /etc/x /srv/x 2>/dev/null || echo no", "no\nno\nno"},
		sight{"its own /tmp", "ls /tmp; echo done", "done"},
		sight{"the node's places", "ls " + filepath.Dir(tree) + " 2>/dev/null; echo done", "done"},
	) {
		switch tt.name {
		case "variables":
			tt.want = "value of a job,,/sandbox,," + UserImageTag
		case "host name":
			tt.want = UserImageTag
		}
		if got, code := sh(tt.script); got != tt.want || code != 0 {
			t.Errorf("%s: %q (exit code %d), want %q", tt.name, got, code, tt.want)
		}
	}
	if _, code := sh("exit 7"); code != 7 {
		t.Errorf("exit code %d", code)
	}
	if after := listed(t, tree); after != before {
		t.Errorf("the folder was\n%s\nand is\n%s", before, after)
	}
	if _, err := os.Stat(n.path("cache/trees")); err == nil {
		t.Error("something was copied")
	}
}

// listed is all names below a folder.
func listed(t *testing.T, dir string) string {
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		b.WriteString(path + " " + d.Type().String() + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
