package environment

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gridbroker/jdl"
)

const someDigest = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// A job's image comes from where the site says, by its digest, and brings nothing along.
func TestImagesOfJobs(t *testing.T) {
	if UserImageTag != jdl.UserImageTag {
		t.Fatal("two tags for images of jobs")
	}
	open := Policy{UserImages: true, UserRegistries: []string{"reg.example.org/users", "hub.example.org:5000"}, Network: true, Open: true}
	for _, tt := range []struct {
		policy Policy
		image  string
		want   string // of the error; empty: allowed
	}{
		{open, "docker://reg.example.org/users/me/tool" + someDigest, ""},
		{open, "docker://hub.example.org:5000/x" + someDigest, ""},
		{Policy{}, "docker://reg.example.org/users/x" + someDigest, "images of users"},
		{Policy{UserImages: true}, "docker://reg.example.org/users/x" + someDigest, "allowed: )"},
		{Policy{UserRegistries: open.UserRegistries}, "docker://reg.example.org/users/x" + someDigest, "images of users"},
		{open, "docker://reg.example.org/site/x" + someDigest, "allowed: reg.example.org/users"},
		{open, "docker://reg.example.org/users/../site/x" + someDigest, "from docker://reg.example.org/users/../site/x"},
		{open, "docker://reg.example.org/usersx/y" + someDigest, "allowed:"},
		{open, "docker://hub.example.org:5000.evil.example/x" + someDigest, "allowed:"},
		{open, "docker://hub.example.org:50001/x" + someDigest, "allowed:"},
		{open, "docker://169.254.169.254/latest/x" + someDigest, "allowed:"},
		{open, "docker://me@hub.example.org:5000/x" + someDigest, "digest"},
		{open, "docker://hub.example.org:5000/x", "DIGEST"},
		{open, "docker://hub.example.org:5000/x:latest@latest", "digest"},
		{open, "oci:/etc" + someDigest, "do not lie in a registry"},
		{open, "tree:/etc/shadow" + someDigest, "do not lie in a registry"},
		{open, "", "DIGEST"},
	} {
		n := &Node{Policy: tt.policy}
		d, err := n.UserImage(tt.image)
		switch {
		case tt.want == "" && err != nil, tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %q", tt.image, err, tt.want)
		case err == nil && (d.Network || d.Open || d.Nested || len(d.Mounts)+len(d.Devices) > 0):
			t.Errorf("%s brings %+v", tt.image, d)
		}
	}
	_, err := Parse("x.toml", []byte("tag = \"vee-userimage\"\nimage = \"tree:/x\"\ndigest = \""+someDigest[1:]+"\""))
	if _, ok := errors.AsType[*ParseError](err); !ok || !strings.Contains(err.Error(), "x.toml:1:1") {
		t.Errorf("a definition of the tag: %v", err)
	}
}

// What a node does not take, its launcher refuses before it asks any registry.
func TestImageOfAJobOnANode(t *testing.T) {
	n := newNode(t, "")
	run := func(image, tag string) (string, int) {
		cmd := n.command("true")
		at := len(cmd.Args) - 3 // TAG -- true
		cmd.Args = append(append(cmd.Args[:at:at], "--image", image), tag, "--", "true")
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, code := run("docker://127.0.0.1:1/x"+someDigest, UserImageTag); code != exitNotDeployed || !strings.Contains(out, "does not allow images of users") {
		t.Errorf("%d: %s", code, out)
	}
	if out, code := run("docker://127.0.0.1:1/x"+someDigest, "VEE-X"); code != exitNotDeployed || !strings.Contains(out, "can run in one") {
		t.Errorf("%d: %s", code, out)
	}
	if out, code := run("", UserImageTag); code != exitNotDeployed || !strings.Contains(out, "names none") {
		t.Errorf("%d: %s", code, out)
	}
	var settings Node
	if err := json.Unmarshal([]byte(n.read("node.json")), &settings); err != nil {
		t.Fatal(err)
	}
	settings.Policy.UserImages, settings.Policy.UserRegistries = true, []string{"registry.example.org"}
	text, _ := json.Marshal(settings)
	n.write("node.json", string(text))
	if out, code := run("docker://127.0.0.1:1/x"+someDigest, UserImageTag); code != exitNotDeployed || !strings.Contains(out, "allowed: registry.example.org") {
		t.Errorf("%d: %s", code, out)
	}
	if _, err := os.Stat(n.path("cache/trees")); err == nil {
		t.Error("the cache was touched")
	}
	// Where users have caches of their own, the image would lie there.
	users := n.mkdir("users", 0)
	if err := os.Chmod(users, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	settings.UserCache, settings.Policy.UserRegistries = users, []string{"127.0.0.1:1"}
	text, _ = json.Marshal(settings)
	n.write("node.json", string(text))
	if out, code := run("docker://127.0.0.1:1/x"+someDigest, UserImageTag); code != exitNotDeployed || !strings.Contains(out, "127.0.0.1:1") || strings.Contains(out, "grid-deploy") {
		t.Errorf("%d: %s", code, out)
	}
	if own, _ := filepath.Glob(filepath.Join(users, "*", "locks", "*")); len(own) == 0 {
		t.Error("the user has no cache")
	}
	if _, err := os.Stat(n.path("cache/trees")); err == nil {
		t.Error("the site's cache was touched")
	}
}
