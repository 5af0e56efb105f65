package cli_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gridbroker/plugins/all"
)

// TestNumbersThatCannotBe: a number below what a flag can mean is a mistake that names it. It is not taken for none, which would
// do more, or something else, than what was asked for.
func TestNumbersThatCannotBe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	scenario := "policies = [\"random\"]\n[jobs]\ncount = 3\nload = 0.5\n[[site]]\nname = \"a\"\nprocs = 4\n"
	for name, text := range map[string]string{
		"j.jdl": `Executable = "/bin/true";`, "s.toml": scenario, "t.swf": "; MaxProcs: 8\n1 0 0 100 4 -1 -1 4 200 -1 1 1 1 -1 1 -1 -1 -1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []string{
		"run --cpus=-1 -- true", "run --gpu=-1 -- true", "run --show --cpus=-1 -- true",
		"output --all --attempt=-1", "match --limit=-1 j.jdl", "follow --once --replan-moves=-1",
		"list --limit=-1", "status --limit=-1", "submit --scouts=-1 j.jdl", "submit --priority=-1 j.jdl", "submit --priority=nan j.jdl", "submit --priority=inf j.jdl",
		"sim grid --jobs=-1 s.toml", "sim grid --jobs=0 s.toml", "sim grid --seeds=-1 s.toml", "sim grid --count=-1 s.toml",
		"sim queue --trace t.swf --policy easy --procs=-1", "sim queue --trace t.swf --policy easy --nodes=-1", "sim queue --trace t.swf --policy easy --load=nan",
		"sim queue --trace t.swf --policy easy --nodes=2 --memory=-1", "sim forecast --trace t.swf --load=0", "sim forecast --trace t.swf --skip=100",
		"sim workload --jobs=0", "sim workload --procs=-1", "sim workload --load=inf", "sim tree --seeds=0", "sim tree --job=-1", "sim cache --seeds=0",
		"cache serve --portion=0 --origin http://127.0.0.1:1/ --dir c", "cache serve --fetches=0 --origin http://127.0.0.1:1/ --dir c",
		"manager run --count=0 --via https://127.0.0.1:1 --name https://127.0.0.1:2 -- true",
	} {
		args := strings.Fields(line)
		code, out, errs := oneShotWith(t, dir, all.Backends(), args...)
		at := slices.IndexFunc(args, func(a string) bool { return strings.Contains(a, "=") })
		name, _, _ := strings.Cut(strings.TrimPrefix(args[at], "--"), "=")
		if code != 2 || out != "" || !strings.Contains(errs, name) || strings.Contains(errs, "unknown flag") {
			t.Errorf("grid %s: code %d\n%.200s%.200s", line, code, out, errs)
		}
	}
}
