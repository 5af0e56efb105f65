package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var execStart = regexp.MustCompile(`(?m)^ExecStart=/usr/bin/(grid .+)$`)

// TestUnits: the units that packages bring start verbs that there are, with flags that they take, and systemd understands every line.
func TestUnits(t *testing.T) {
	root := rootCmd(&deps{env: Env{Getenv: func(string) string { return "" }}})
	files, err := filepath.Glob("../../testdata/release/*.service")
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	dir := t.TempDir()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		start := execStart.FindSubmatch(text)
		if start == nil {
			t.Errorf("%s starts nothing", name)
			continue
		}
		words := strings.Fields(strings.NewReplacer("%i", "cluster1", "$GRID_AGENT", "--lrms slurm: --scheduler https://s.example.org:6120").Replace(string(start[1])))
		if wrong := unknown(root, words[1:]); wrong != "" {
			t.Errorf("%s: %s: %s", name, start[1], wrong)
		}
		able := strings.ReplaceAll(string(text), "/usr/bin/grid ", "/bin/true ")
		if err := os.WriteFile(filepath.Join(dir, strings.Replace(name, "@.", "@cluster1.", 1)), []byte(able), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	understood(t, dir)
}

// understood asks systemd about the units of a directory.
func understood(t *testing.T, dir string) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("systemd is not here: it was not asked")
		return
	}
	units, err := filepath.Glob(filepath.Join(dir, "*.service"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(analyze, append([]string{"verify", "--man=no"}, units...)...).CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "grid-") {
			t.Errorf("systemd: %s", line)
		}
	}
	if err != nil && len(out) == 0 {
		t.Error(err)
	}
}
