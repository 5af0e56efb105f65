package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFishRunsNoNames completes behind file names that a shell would run if it read them anew: fish has
// quoted them, and the script leaves it at that.
func TestFishRunsNoNames(t *testing.T) {
	fish, err := exec.LookPath("fish")
	if err != nil {
		t.Skip("no fish on this machine")
	}
	exe, dir := program(t), t.TempDir()
	script, err := exec.Command(exe, "completion", "fish").Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "grid.fish"), script, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"$(touch harm).jdl", "(touch harm).jdl", "a;touch harm", "a|touch harm", "a>harm"} {
		cmd := exec.Command(fish, "--no-config", "-c", "source grid.fish; complete -C 'grid jdl check '(string escape -- $argv[1] | string collect)' '", name)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+t.TempDir(), "PATH="+filepath.Dir(exe)+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "grid.fish") {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		if _, err := os.Stat(filepath.Join(dir, "harm")); err == nil {
			t.Errorf("%s was run", name)
			_ = os.Remove(filepath.Join(dir, "harm"))
		}
	}
}

// TestShellsComplete runs the script that is made for fish, where there is one, in
// an empty home: verbs, flags with their texts, values of flags.
func TestShellsComplete(t *testing.T) {
	fish, err := exec.LookPath("fish")
	if err != nil {
		t.Skip("no fish on this machine")
	}
	exe := program(t)
	script := filepath.Join(t.TempDir(), "grid.fish")
	text, err := exec.Command(exe, "completion", "fish").Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(script, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"grid subm":                 "submit\tSend jobs to the best resources",
		"grid list --since":         "--since\tjobs submitted since a time (2h, 3d, 2026-11-21, 2026-11-21T06:00)",
		"grid list --state runn":    "running",
		"grid jdl convert --to xrs": "xrsl",
		"grid cat 1m87kh7z4b73jsw ": "",
	} {
		cmd := exec.Command(fish, "--no-config", "-c", "source "+script+"; complete -C '"+line+"'")
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "PATH="+filepath.Dir(exe)+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%s: %v\n got %q\nwant %q", line, err, got, want)
		}
	}
}
