package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	served "github.com/google/go-containerregistry/pkg/registry"

	"gridbroker/environment"
	"gridbroker/testdata/testbed"
)

// A user brings an image by the job's description: it runs inside where the site takes images from that registry, and
// where it takes none the broker, the node and `grid why` say so.
func TestImageOfAJob(t *testing.T) {
	t.Parallel()
	if testing.Short() || os.Getuid() != 0 {
		t.Skip("takes some seconds, as root")
	}
	f := newFarm(t)
	server := httptest.NewServer(served.New(served.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	f.grid("env", "push", "VEE-Debian11", "docker://"+host+"/users/debian", "--node", f.path("node.json"))
	image := "docker://" + host + "/users/debian@" + f.digest(t)
	f.userNode("takes.json", environment.Policy{UserImages: true, UserRegistries: []string{host + "/users"}})
	f.userNode("takesnot.json", environment.Policy{})
	f.write("look.sh", "#!/bin/sh\n. /etc/os-release\necho $VERSION_ID $GRID_ENVIRONMENT $PWD\n")
	f.write("job.jdl", fmt.Sprintf("Executable = \"look.sh\";\nInputSandbox = {\"look.sh\"};\nStdOutput = \"out\";\nOutputSandbox = {\"out\"};\nContainerImage = %q;\n", image))

	f.userSite("takesnot.json")
	out, err := f.try("match", "--explain", "job.jdl")
	if err == nil || !strings.Contains(out+err.Error(), "VEE-UserImage") || !strings.Contains(out+err.Error(), "): no site that was seen takes images that jobs bring") {
		t.Errorf("where no images are taken: %v\n%s", err, out)
	}
	f.userSite("takes.json")
	if out := f.grid("match", "--explain", "job.jdl"); !strings.Contains(out, "VEE-UserImage (ContainerImage") {
		t.Errorf("match --explain:\n%s", out)
	}
	if out := f.grid("env", "run", "VEE-UserImage", "--image", image, "--node", f.path("takes.json"), "--", "/bin/sh", "-c", "echo $GRID_ENVIRONMENT"); out != "VEE-UserImage\n" {
		t.Errorf("tried by hand: %q", out)
	}
	f.broughtImage(t)
	digest := f.digest(t)
	testbed.TagImage(t, server.URL, "users/debian", digest, "11")
	f.write("job.jdl", strings.Replace(f.read("job.jdl"), "debian@"+digest, "debian:11", 1))
	f.broughtImage(t)
	if out := f.grid("list", "--jq", ".jobs[-1].id"); !strings.Contains(f.grid("show", "--json", strings.TrimSpace(out)), "debian@"+digest) {
		t.Errorf("the image of a tag is not recorded by its digest")
	}
	f.write("job.jdl", strings.Replace(f.read("job.jdl"), "debian:11", "debian:12", 1)) // the port may begin with 11
	if out, err := f.try("submit", "job.jdl"); err == nil || !strings.Contains(out+err.Error(), "debian:12") {
		t.Errorf("a tag that is not there: %v\n%s", err, out)
	}
	f.write("job.jdl", strings.Replace(f.read("job.jdl"), "debian:12", "debian@"+digest, 1))
	f.write("job.jdl", strings.Replace(f.read("job.jdl"), host+"/users/", host+"/others/", 1))
	out, err = f.try("submit", "--wait", "job.jdl")
	if err == nil || !strings.Contains(out+err.Error(), "allowed: "+host+"/users") {
		t.Errorf("from another place of the registry: %v\n%s", err, out)
	}
}

// On real sites whose nodes take images and whose cache is root's, the job's user brings his: it lies in a cache of his
// own, and the job runs in it.
func TestImageOfAJobOnRealSites(t *testing.T) {
	t.Parallel()
	if testing.Short() || os.Getuid() != 0 {
		t.Skip("takes a minute, as root")
	}
	f := newFarm(t)
	server := httptest.NewServer(served.New(served.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	f.grid("env", "push", "VEE-Debian11", "docker://"+host+"/users/debian", "--node", f.path("node.json"))
	f.userNode("takes.json", environment.Policy{UserImages: true, UserRegistries: []string{host + "/users"}})
	f.write("look.sh", "#!/bin/sh\n. /etc/os-release\necho $VERSION_ID $GRID_ENVIRONMENT $PWD\n")
	f.write("job.jdl", fmt.Sprintf("Executable = \"look.sh\";\nInputSandbox = {\"look.sh\"};\nStdOutput = \"out\";\nStdError = \"err\";\nOutputSandbox = {\"out\", \"err\"};\nContainerImage = \"docker://%s/users/debian@%s\";\n", host, f.digest(t)))
	t.Run("slurm", func(t *testing.T) {
		f.slurm(t)
		had := f.features(t, "n7")
		feature := func(list string) {
			f.tool(t, "scontrol", "update", "NodeName=n7", "AvailableFeatures="+list, "ActiveFeatures="+list)
		}
		t.Cleanup(func() { feature(had) })
		feature(strings.TrimPrefix(strings.TrimSuffix(had, "(null)")+",", ",") + "VEE-UserImage")
		f.write("home/.config/grid/grid.toml", fmt.Sprintf("sources = [\"slurm+ssh://gridlab%[1]s/there?launcher=%[1]s/grid-launch&node=%[1]s/takes.json\"]\n", f.dir))
		f.broughtImage(t)
		if own, _ := filepath.Glob(f.path("users/*/trees/*")); len(own) == 0 {
			t.Error("the image does not lie in the user's cache")
		}
	})
	t.Run("arex", func(t *testing.T) {
		f.grid("tags", "add", "VEE-UserImage", "--store", "tags")
		f.enable(t, "VEE-UserImage", f.grid("tags", "publish", "rte", "VEE-UserImage", "--store", "tags", "--node", "takes.json", "--launcher", f.path("grid-launch")))
		f.broughtImage(t)
	})
}

// broughtImage sends the job and looks whether it ran in its image.
func (f *farm) broughtImage(t *testing.T) {
	t.Helper()
	said, err := f.try("submit", "--wait", "--max-age", "1s", "--deadline", "60s", "job.jdl")
	id, _, _ := strings.Cut(said, " ")
	got := t.TempDir()
	f.try("output", "--dir", got, id)
	if err != nil {
		words, _ := filepath.Glob(filepath.Join(got, "*", "err"))
		for _, name := range words {
			text, _ := os.ReadFile(name)
			t.Logf("its standard error: %s", text)
		}
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(got, "*", "out"))
	if len(files) != 1 {
		t.Fatalf("output: %v", files)
	}
	if text, err := os.ReadFile(files[0]); err != nil || string(text) != "11 VEE-UserImage /sandbox\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func (f *farm) read(name string) string {
	text, err := os.ReadFile(f.path(name))
	if err != nil {
		f.t.Fatal(err)
	}
	return string(text)
}

// digest is that of the farm's image.
func (f *farm) digest(t *testing.T) string {
	for line := range strings.Lines(f.read("definitions/VEE-Debian11.toml")) {
		if value, ok := strings.CutPrefix(line, "digest = "); ok {
			return strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	t.Fatal("the definition has no digest")
	return ""
}

// userNode is a node with an empty cache and no definitions.
func (f *farm) userNode(name string, policy environment.Policy) {
	for dir, mode := range map[string]os.FileMode{"none": 0o755, name + ".cache": 0o755, "users": 0o777 | os.ModeSticky} {
		os.MkdirAll(f.path(dir), 0o755)
		os.Chmod(f.path(dir), mode)
	}
	text, err := json.Marshal(environment.Node{Definitions: f.path("none"), Cache: f.path(name + ".cache"), UserCache: f.path("users"), Policy: policy})
	if err != nil {
		f.t.Fatal(err)
	}
	f.write(name, string(text))
}

func (f *farm) userSite(node string) {
	f.write("home/.config/grid/grid.toml", fmt.Sprintf("sources = [\"local:\"]\n[[local]]\nname = \"boxes\"\nenvironments = %q\n", f.path(node)))
}
