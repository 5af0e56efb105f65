package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gridbroker/plugins/all"
)

// TestConfigCheckFindsWhatFailsLater: what a configuration file names and any verb would
// refuse when it comes to it, grid config check refuses, and says what; what it calls good
// is good. Nobody is asked for that: hosts that are not there are none of its business.
func TestConfigCheckFindsWhatFailsLater(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                         "",
		"sources = [\"local:\"]\n": "",
		"sources = [\"ldap://nobody.invalid:2170/o=grid\"]\n":       "",
		"sources = [\"https://nobody.invalid/arex\"]\n":             "",
		"scheduler = \"grid://nobody.invalid:6120\"\n":              "",
		"[services]\nforecasts = [\"*=https://nobody.invalid/\"]\n": "",
		"sources = [\"nope:x\"]\n":                                  `source "nope:x": no such kind; known: `,
		"sources = [\"local:\", \"\"]\n":                            `source "": no such kind`,
		"sources = \"local:\"\n":                                    ":1:11: ",
		"scheduler = \"ftp://x\"\n":                                 `scheduler = "ftp://x": not a scheduler; want grid://host:port`,
		"scheduler = \"local:\"\n":                                  "not a scheduler; want grid://host:port",
		"policy = \"formula:waiting\"\n":                            "",
		"policy = \"best\"\n":                                       "no such policy: best",
		"policy = \"formula:1 +\"\n":                                "formula",
		"[services]\nforecasts = [\"x\"]\n":                         "forecasts: x: not a URL of a service",
		"[services]\nforecasts = [\"[=https://x/\"]\n":              "is no pattern of resource names",
		"[services]\nqueue_lengths = [\"ftp://x/\"]\n":              "queue_lengths: ftp://x/: not a URL of a service",
		"[services]\nmonitors = [\"http://x/\"]\n":                  "monitors: ",
		"[[local]]\nname = \"a\"\nspeed = nan\n":                    `local site "a": slots, speed`,
		"[[local]]\nname = \"a\"\nspeed = inf\n":                    `local site "a": slots, speed`,
		"[[local]]\nname = \"a\"\nslots = -1\n":                     `local site "a": slots, speed`,
		"[[local]]\nname = \"a\"\n[[local]]\nname = \"a\"\n":        `local site "a" is configured twice`,
		"[[local]]\nname = \"../a\"\n":                              `local site "../a": a name has letters`,
		"[[local]]\nname = \"a\"\ncolour = 1\n":                     ":3:1: no such setting: local.colour",
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "grid.toml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, errs := oneShotWith(t, dir, all.Backends(), "config", "check", file)
		good := code == 0 && out == file+": good\n" && errs == ""
		bad := code == 2 && out == "" && strings.HasPrefix(errs, "grid: "+file) && strings.Contains(errs, want)
		if want == "" && !good || want != "" && !bad {
			t.Errorf("%s: code %d, want %q\n%s%s", text, code, want, out, errs)
		}
		if _, err := os.Stat(filepath.Join(dir, ".local")); err == nil {
			t.Errorf("%s: a check made records", text)
		}
	}
}

// TestConfigCheckWithoutAFile: nobody needs a configuration file; check says what counts without one and how to get one, but not of a
// file that was named.
func TestConfigCheckWithoutAFile(t *testing.T) {
	t.Parallel()
	const hint = "(the defaults of grid config show count; grid config init writes one)"
	code, _, errs := oneShotWith(t, t.TempDir(), all.Backends(), "config", "check")
	if code != 2 || !strings.Contains(errs, hint) {
		t.Errorf("%d %s", code, errs)
	}
	code, _, errs = oneShotWith(t, t.TempDir(), all.Backends(), "config", "check", "nope.toml")
	if code != 2 || strings.Contains(errs, hint) || !strings.Contains(errs, "nope.toml: no such file") {
		t.Errorf("%d %s", code, errs)
	}
}
