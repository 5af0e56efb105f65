package environment

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A node with signers runs what they have signed, each for its own tags, and takes the rest for users': by ssh-keygen's
// own signatures.
func TestSignedDefinitions(t *testing.T) {
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("no ssh-keygen: Debian package openssh-client")
	}
	dir := t.TempDir()
	key := func(name string) string {
		file := filepath.Join(dir, name)
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", file).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		text, err := os.ReadFile(file + ".pub")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	define := func(tag, more string) string {
		file := filepath.Join(dir, tag+".toml")
		text := fmt.Sprintf("tag = %q\nimage = \"oci:/i\"\ndigest = \"sha256:%s\"\n%s", tag, strings.Repeat("ab", 32), more)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	sign := func(file, by, namespace string) {
		os.Remove(file + ".sig")
		if out, err := exec.Command("ssh-keygen", "-q", "-Y", "sign", "-n", namespace, "-f", filepath.Join(dir, by), file).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	node := &Node{Definitions: dir, Policy: Policy{Network: true, Signers: []Signer{{Key: key("site")}, {Key: key("cms"), Tags: []string{"VO-cms-*"}}}}}
	key("other")
	why := func(tag string) string {
		if _, err := node.Definition(tag); err != nil {
			return err.Error()
		}
		return ""
	}
	for _, tt := range []struct{ tag, by, namespace, want string }{
		{"VEE-A", "site", SignatureNamespace, ""},
		{"VO-cms-A", "cms", SignatureNamespace, ""},
		{"VEE-B", "cms", SignatureNamespace, "may not define the tag VEE-B"},
		{"VEE-C", "other", SignatureNamespace, "no signer's of this node"},
		{"VEE-D", "site", "file", `is for "file"`},
	} {
		sign(define(tt.tag, "network = true\n"), tt.by, tt.namespace)
		if got := why(tt.tag); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s by %s: %q", tt.tag, tt.by, got)
		}
	}
	sig, err := os.ReadFile(filepath.Join(dir, "VEE-A.toml.sig"))
	if err != nil {
		t.Fatal(err)
	}
	define("VEE-A", "network = true\nnested = true\n")
	if got := why("VEE-A"); !strings.Contains(got, "was changed after") {
		t.Errorf("changed: %q", got)
	}
	for name, text := range map[string]string{"empty": "", "cut": string(sig[:len(sig)/2]), "odd": "-----BEGIN SSH SIGNATURE-----\nU1NIU0lHAAAAAf////8=\n-----END SSH SIGNATURE-----\n"} {
		os.WriteFile(filepath.Join(dir, "VEE-A.toml.sig"), []byte(text), 0o644)
		_, err := node.Definition("VEE-A")
		if _, ok := errors.AsType[*SignatureError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	define("VEE-User", "")
	define("VEE-Greedy", "nested = true\n")
	if got := why("VEE-User"); !strings.Contains(got, "images of users") {
		t.Errorf("a user's, where users have none: %q", got)
	}
	node.Policy.UserImages = true
	if got := why("VEE-User"); got != "" {
		t.Errorf("a user's, where users may: %q", got)
	}
	if got := why("VEE-Greedy"); !strings.Contains(got, "nested") {
		t.Errorf("a user's that asks for more: %q", got)
	}
	define("VEE-E", "network = true\n")
	sign(filepath.Join(dir, "VEE-E.toml"), "site", SignatureNamespace)
	if err := os.Rename(filepath.Join(dir, "VEE-E.toml"), filepath.Join(dir, "site.toml")); err != nil {
		t.Fatal(err)
	}
	os.Rename(filepath.Join(dir, "VEE-E.toml.sig"), filepath.Join(dir, "site.toml.sig"))
	define("VEE-E", "")
	os.Rename(define("vee-e", ""), filepath.Join(dir, "a.toml"))
	if err := os.WriteFile(filepath.Join(dir, "VEE-Broken.toml"), []byte("tag = "), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tag := range []string{"VEE-E", "vee-e"} {
		if d, err := node.Definition(tag); err != nil || !d.Network {
			t.Errorf("%s, which users define besides the site: %+v, %v", tag, d, err)
		}
	}
	sign(filepath.Join(dir, "VEE-Broken.toml"), "site", SignatureNamespace)
	if got := why("VEE-E"); got != "" {
		t.Errorf("the site's own, beside a broken one: %q", got)
	}
	for _, tag := range []string{"VEE-Broken", "VEE-User"} { // a user's could be in the place of the broken one
		if got := why(tag); !strings.Contains(got, "VEE-Broken.toml") {
			t.Errorf("%s, where the site's own is broken: %q", tag, got)
		}
	}
}
