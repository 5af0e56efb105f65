package cli_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// The agent deploys, at the real Slurm, what waiting jobs will ask for, the one that starts first first; it publishes
// what is cached as features of its nodes and among the site's tags, and takes back what the cache has lost.
func TestAgentDeploysAheadOnSlurm(t *testing.T) {
	t.Parallel()
	if testing.Short() || os.Getuid() != 0 {
		t.Skip("takes some seconds, as root")
	}
	f := newFarm(t)
	f.slurm(t)
	text, err := os.ReadFile(f.path("definitions/VEE-Debian11.toml"))
	if err != nil {
		t.Fatal(err)
	}
	late, soon := fmt.Sprintf("VEE-Late-%d", os.Getpid()), fmt.Sprintf("VEE-Soon-%d", os.Getpid())
	for _, tag := range []string{late, soon} {
		f.write("definitions/"+tag+".toml", strings.Replace(string(text), "VEE-Debian11", tag, 1))
	}
	os.Remove(f.path("definitions/VEE-Debian11.toml")) // jobs of others ask for it
	had := f.features(t, "n8")
	t.Cleanup(func() {
		f.tool(t, "scontrol", "update", "NodeName=n8", "AvailableFeatures="+had, "ActiveFeatures="+had)
	})
	f.grid("tags", "add", late, soon, "--store", "tags", "--node", "node.json")
	look := []string{"agent", "vres", "--once", "--json", "--lrms", "slurm:", "--node", "node.json", "--nodes", "n8", "--store", "tags"}
	f.grid(look...) // the features that jobs ask for are there
	for tag, begin := range map[string]string{late: "now+1800", soon: "now+900"} {
		id := strings.TrimSpace(f.tool(t, "sbatch", "--parsable", "--partition=short", "--constraint="+tag, "--prefer="+tag+".cached", "--begin="+begin, "--output=/dev/null", "--wrap", "true"))
		t.Cleanup(func() { f.tool(t, "scancel", id) })
	}
	var doc struct {
		Wanted []struct {
			Tag   string
			Jobs  int
			Start time.Time
		}
		Environments []struct {
			Tag    string
			Cached bool
			Error  string
		}
	}
	said := f.grid(look...)
	if err := json.Unmarshal([]byte(said), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Wanted) != 2 || doc.Wanted[0].Tag != soon || doc.Wanted[1].Tag != late || len(doc.Environments) != 2 || !doc.Environments[0].Cached {
		t.Fatalf("%s", said)
	}
	features := f.features(t, "n8")
	for _, want := range []string{soon, soon + ".cached", late + ".cached"} {
		if !strings.Contains(features+",", want+",") {
			t.Errorf("no feature %s among %s", want, features)
		}
	}
	if glue := f.grid("tags", "publish", "glue1", "--subcluster", "GlueSubClusterUniqueID=x", "--store", "tags"); !strings.Contains(glue, soon+".cached") {
		t.Errorf("not among the tags:\n%s", glue)
	}
	out, err := f.try(append(look, "--always", "VEE-None")...)
	if x, ok := errors.AsType[*exec.ExitError](err); !ok || x.ExitCode() != 5 || !strings.Contains(err.Error(), "no environment") {
		t.Errorf("what is not defined cannot be deployed: %s, %v", out, err)
	}
	f.grid("env", "gc", "--keep", "0", "--yes", "--node", "node.json")
	f.grid("agent", "vres", "--once", "--lrms", "slurm:", "--node", "node.json", "--nodes", "n8", "--ahead", "1m")
	if features = f.features(t, "n8"); strings.Contains(features, soon+".cached") || !strings.Contains(features, soon) {
		t.Errorf("after the cache was emptied: %s", features)
	}
}

func (f *farm) tool(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), f.env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s %q: %v %s", name, args, err, out)
	}
	return string(out)
}

func (f *farm) features(t *testing.T, node string) string {
	t.Helper()
	for _, word := range strings.Fields(f.tool(t, "scontrol", "show", "node", node)) {
		if list, ok := strings.CutPrefix(word, "ActiveFeatures="); ok {
			return list
		}
	}
	t.Fatal("no features of ", node)
	return ""
}
