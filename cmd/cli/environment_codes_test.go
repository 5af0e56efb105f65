package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"gridbroker/plugins/all"
)

// What keeps a command from its environment is no exit code of the command, which may well end with 1 or 2.
func TestNoEnvironmentIsNoExitCodeOfACommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	settings := fmt.Sprintf(`{"definitions":%q,"cache":%q}`, dir, filepath.Join(dir, "cache"))
	if err := os.WriteFile(filepath.Join(dir, "node.json"), []byte(settings), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"run", "VEE-None", "--node", "node.json", "--", "true"}, {"run", "VEE-None", "--node", "no.json", "--", "true"},
		{"shell", "VEE-None", "--node", "node.json"}, {"run", "VEE-UserImage", "--image", "docker://h/n", "--node", "node.json"},
	} {
		if code, _, errs := oneShotWith(t, dir, all.Backends(), append([]string{"env"}, args...)...); code != 125 || errs == "" {
			t.Errorf("%v: %d, %s", args, code, errs)
		}
	}
	for _, args := range [][]string{
		{"run", "VEE-None", "--node", "node.json", "--sandbox", "no"}, {"shell", "VEE-None", "--node", "node.json", "--sandbox", "no"}, {"run"},
	} {
		if code, _, errs := oneShotWith(t, dir, all.Backends(), append([]string{"env"}, args...)...); code != 2 {
			t.Errorf("%v: %d, %s", args, code, errs)
		}
	}
}
